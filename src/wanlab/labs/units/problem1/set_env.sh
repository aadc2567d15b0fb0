#!/bin/sh
# Problem 1: a path of 1 Gbit/s and 50 ms between h1 and h2, and something that is wrong with it.
#
#     sudo ./set_env.sh        at the client, while the topology runs
#
# What is wrong depends on $WANLAB_SEED, the number of your machine. May be run again: it begins anew.
set -eu

variant=$(( (${WANLAB_SEED:-1} + 3) % 4 + 1 ))

for port in s1-eth1 s1-eth2 s2-eth1 s2-eth2; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
for host in h1 h2; do
  wanlab-node "$host" tc qdisc del dev "$host-eth0" root 2>/dev/null || true
done

# What the figure promises.
buffer=6553600
delay_back=25ms
case "$variant" in
  1) buffer=100000 ;;
  4) delay_back=225ms ;;
esac
tc qdisc add dev s1-eth2 root handle 1: netem delay 25ms
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1gbit burst 500000 limit "$buffer"
tc qdisc add dev s2-eth1 root handle 1: netem delay "$delay_back"

case "$variant" in
  2) tc qdisc add dev s2-eth2 root handle 1: netem loss 0.5% ;;
  3) wanlab-node h1 tc qdisc add dev h1-eth0 root tbf rate 100mbit burst 50000 limit 625000 ;;
esac

echo "Problem 1 is set: 1 Gbit/s and 50 ms, it says."
