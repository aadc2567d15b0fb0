#!/bin/sh
# Problem 2: a path with losses, whose sender, rate, delay and losses the seed has drawn (lab.yaml).
# The delay line holds 10000 packets instead of its usual 1000, which are too few for some paths.
set -eu

if ! [ -e /sys/class/net/s1-eth2 ]; then
  echo "set_env.sh: there is no s1-eth2: open the topology and run it first" >&2
  exit 1
fi

# It may be run again: what an earlier run, or its user, has left goes first.
for other in s1-eth2 s1-eth1 s2-eth1 s2-eth2; do
  tc qdisc del dev "$other" root 2>/dev/null || true
done
tc qdisc add dev "$port" root handle 1: netem limit 10000 delay "${delay}ms" loss "$loss%"
tc qdisc add dev "$port" parent 1: handle 2: tbf rate "${rate}mbit" burst 500000 limit "$bdp"
for host in h1 h2; do
  wanlab-node "$host" sysctl -q -w net.ipv4.tcp_congestion_control=cubic
  for buffer in tcp_rmem tcp_wmem; do
    wanlab-node "$host" sysctl -q -w "net.ipv4.$buffer=10240 87380 $bdp"
  done
done

echo "The environment is ready: $sender sends to $receiver through $port,"
echo "$rate Mbit/s, $delay ms, losses of $loss %. The hosts have memory for 12 BDPs: $most bytes."
