#!/bin/sh
# Problem 2: 1 Gbit/s, 20 ms and losses of 0.1 % from s1 to s2.
# The delay line holds 10000 packets instead of its usual 1000: 20 ms of 1 Gbit/s are 1667.
set -eu

if ! [ -e /sys/class/net/s1-eth2 ]; then
  echo "set_env.sh: there is no s1-eth2: open the topology and run it first" >&2
  exit 1
fi

# It may be run again: what an earlier run, or its user, has left goes first.
for port in s1-eth2 s1-eth1 s2-eth1 s2-eth2; do
  tc qdisc del dev "$port" root 2>/dev/null || true
done
tc qdisc add dev s1-eth2 root handle 1: netem limit 10000 delay 20ms loss 0.1%
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1gbit burst 500000 limit 2621440

echo "The environment is ready."
