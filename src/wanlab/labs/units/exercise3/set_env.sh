#!/bin/sh
# Exercise 3: 1 Gbit/s and 100 ms from s1 to s2, with buffers that are too small everywhere.
set -eu

if ! [ -e /sys/class/net/s1-eth2 ]; then
  echo "set_env.sh: there is no s1-eth2: open the topology and run it first" >&2
  exit 1
fi

# It may be run again: what an earlier run, or its user, has left goes first.
for port in s1-eth2 s1-eth1 s2-eth1 s2-eth2; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
tc qdisc add dev s1-eth2 root handle 1: netem delay 100ms
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1gbit burst 500000 limit 1250000

# A third of the bandwidth-delay product of 12,500,000 bytes; the port above has a tenth of it.
for host in h1 h2; do
  for buffer in tcp_rmem tcp_wmem; do
    wanlab-node "$host" sysctl -q -w "net.ipv4.$buffer=10240 87380 4194304"
  done
done

echo "The environment is ready."
