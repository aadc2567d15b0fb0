#!/bin/sh
# Exercise 8: 1 Gbit/s and 50 ms from s1 to h3, with a buffer of a hundred packets.
set -eu

if ! [ -e /sys/class/net/s1-eth2 ]; then
  echo "set_env.sh: there is no s1-eth2: open the topology and run it first" >&2
  exit 1
fi

# It may be run again: what an earlier run, or its user, has left goes first.
for port in s1-eth1 s1-eth2 s1-eth3; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
# netem counts what waits below it, and its default of 1000 packets would end before a large buffer does.
tc qdisc add dev s1-eth2 root handle 1: netem delay 50ms limit 100000
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1gbit burst 500000 limit 150000

for host in h1 h2 h3; do
  wanlab-node "$host" sysctl -q -w net.ipv4.tcp_congestion_control=cubic
  for buffer in tcp_rmem tcp_wmem; do
    wanlab-node "$host" sysctl -q -w "net.ipv4.$buffer=10240 87380 16777216"
  done
done

echo "The environment is ready."
