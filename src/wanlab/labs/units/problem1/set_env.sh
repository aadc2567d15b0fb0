#!/bin/sh
# Problem 1: a path with a promised rate and delay between h1 and h2, and something wrong with it.
# The variables are what the seed has drawn (lab.yaml). You can run it again to start over.
set -eu

for port in s1-eth1 s1-eth2 s2-eth1 s2-eth2; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
for host in h1 h2; do
  wanlab-node "$host" tc qdisc del dev "$host-eth0" root 2>/dev/null || true
done

# What was promised, but for the fault.
buffer=$bdp
there=$half
back=$half
loss=
case "$variant" in
  1) buffer=70000 ;;
  2) [ "$at" = h1-eth0 ] || loss="loss $percent%" ;;
  4) if [ "$way" = s1-eth2 ]; then there=$long; else back=$long; fi ;;
esac
tc qdisc add dev s1-eth2 root handle 1: netem delay "${there}ms"
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate "${rate}mbit" burst 500000 limit "$buffer"
tc qdisc add dev s2-eth1 root handle 1: netem delay "${back}ms"
tc qdisc add dev s2-eth2 root handle 1: netem delay "${last}ms" $loss

slower="tbf rate ${slow}mbit burst 70000 limit 625000"
case "$variant $at" in
  "2 h1-eth0") wanlab-node h1 tc qdisc add dev h1-eth0 root netem loss "$percent%" ;;
  "3 h1-eth0") wanlab-node h1 tc qdisc add dev h1-eth0 root $slower ;;
  "3 s2-eth2") tc qdisc add dev s2-eth2 parent 1: handle 2: $slower ;;
esac

echo "Problem 1 is set. The line is sold with $rate Mbit/s and $rtt ms there and back:"
echo "$half ms from s1 to s2, $half ms from s2 to s1, and $last ms from s2 to h2."
