#!/bin/sh
# Exercise 5: 100 Mbit/s and 20 ms from s1 to s2, with a buffer of one bandwidth-delay product.
set -eu

if ! [ -e /sys/class/net/s1-eth2 ]; then
  echo "set_env.sh: there is no s1-eth2: open the topology and run it first" >&2
  exit 1
fi

# It may be run again: what an earlier run, or its user, has left goes first.
for port in s1-eth2 s1-eth1 s2-eth1 s2-eth2; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 100mbit burst 50000 limit 262144

echo "The environment is ready."
