#!/bin/sh
# Problem 3: a bottleneck, and something that makes h1 and h2 share it badly.
# The variables are what the seed has drawn (lab.yaml). You can run it again to start over.
set -eu

limit=$bdp
quiet_sysctl() {  # NODE KEY=VALUE
  wanlab-node "$1" sysctl -q -w "$2"
}

for host in h1 h2 h3 h4; do
  wanlab-node "$host" tc qdisc del dev "$host-eth0" root 2>/dev/null || true
  quiet_sysctl "$host" "net.ipv4.tcp_congestion_control=cubic"
  quiet_sysctl "$host" "net.ipv4.tcp_rmem=10240 87380 16777216"
  quiet_sysctl "$host" "net.ipv4.tcp_wmem=10240 87380 16777216"
done
for other in s1-eth2 s2-eth2 s2-eth3; do
  tc qdisc del dev "$other" root 2>/dev/null || true
done
for line in s2-eth2 s2-eth3; do
  tc qdisc add dev "$line" root handle 1: netem delay "${access}ms" limit 10000
done

case "$variant" in
  1)
    limit=$fifth
    quiet_sysctl "$victim" "net.ipv4.tcp_congestion_control=reno"
    quiet_sysctl "$rival" "net.ipv4.tcp_congestion_control=bbr"
    ;;
  2)
    tc qdisc change dev "$port" root handle 1: netem delay "${access}ms" loss "$percent%" limit 10000
    ;;
  3)
    quiet_sysctl "$victim" "net.ipv4.tcp_wmem=4096 32768 65536"
    quiet_sysctl "$server" "net.ipv4.tcp_rmem=4096 32768 65536"
    ;;
  4)
    quiet_sysctl h1 "net.ipv4.tcp_congestion_control=reno"
    quiet_sysctl h2 "net.ipv4.tcp_congestion_control=reno"
    tc qdisc change dev "$port" root handle 1: netem delay "${far}ms" limit 10000
    ;;
esac

# The delay line holds 1000 packets unless told otherwise: not enough for two slow starts at once.
tc qdisc add dev s1-eth2 root handle 1: netem delay 40ms limit 10000
tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate "${rate}mbit" burst 50000 limit "$limit"
echo "Problem 3: $rate Mbit/s, 40 ms between the switches, and $access ms to each receiver"
