#!/bin/sh
# Exercise 4: 1 Gbit/s and 40 ms from s1 to s2, with buffers that are too small everywhere.
set -eu

if ! [ -e /sys/class/net/s1-eth1 ]; then
  echo "set_env.sh: there is no s1-eth1: open the topology and run it first" >&2
  exit 1
fi

# It may be run again: what an earlier run, or its user, has left goes first.
for port in s1-eth1 s1-eth2 s1-eth3 s2-eth1 s2-eth2 s2-eth3; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
tc qdisc add dev s1-eth1 root handle 1: netem delay 40ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 1gbit burst 500000 limit 500000

# A fifth of the bandwidth-delay product of 5,000,000 bytes; the port above has a tenth of it.
for host in h1 h2 h3 h4; do
  for buffer in tcp_rmem tcp_wmem; do
    wanlab-node "$host" sysctl -q -w "net.ipv4.$buffer=10240 87380 1048576"
  done
done

echo "The environment is ready."
