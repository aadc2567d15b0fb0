#!/bin/sh
# Problem 3. Run it on the client while the topology runs: sudo ./set_env.sh
#
# 100 Mbit/s and 40 ms from s1 to s2, and something that makes h1 and h2 share them badly. There are
# four such things; the number in WANLAB_SEED says which, so that neighbours have different ones.
# (Reading on tells you where to look. You will still have to show that you have cured it.)
set -eu

port=s1-eth2
limit=524288

quiet_sysctl() {  # NODE KEY=VALUE
  wanlab-node "$1" sysctl -q -w "$2"
}

# What an earlier run with another number has left.
for other in s2-eth2 s2-eth3; do
  tc qdisc del dev $other root 2>/dev/null || true
done
for host in h1 h2 h3 h4; do
  quiet_sysctl $host "net.ipv4.tcp_congestion_control=cubic"
  quiet_sysctl $host "net.ipv4.tcp_rmem=10240 87380 16777216"
  quiet_sysctl $host "net.ipv4.tcp_wmem=10240 87380 16777216"
done

# 1, 2, 3, 4, 1, ... and never negative.
variant=$(((${WANLAB_SEED:-1} - 1) % 4))
case $(((variant + 4) % 4 + 1)) in
  1)
    limit=100000
    quiet_sysctl h1 "net.ipv4.tcp_congestion_control=reno"
    quiet_sysctl h2 "net.ipv4.tcp_congestion_control=bbr"
    ;;
  2)
    tc qdisc replace dev s2-eth2 root netem loss 0.5% limit 10000
    ;;
  3)
    quiet_sysctl h2 "net.ipv4.tcp_wmem=4096 32768 65536"
    quiet_sysctl h4 "net.ipv4.tcp_rmem=4096 32768 65536"
    ;;
  4)
    quiet_sysctl h1 "net.ipv4.tcp_congestion_control=reno"
    quiet_sysctl h2 "net.ipv4.tcp_congestion_control=reno"
    tc qdisc replace dev s2-eth3 root netem delay 120ms limit 10000
    ;;
esac

# The delay line holds 1000 packets unless told otherwise: not enough for two slow starts at once.
tc qdisc replace dev $port root handle 1: netem delay 40ms limit 10000
tc qdisc replace dev $port parent 1: handle 2: tbf rate 100mbit burst 50000 limit $limit
echo "Problem 3: 100 Mbit/s, 40 ms"
