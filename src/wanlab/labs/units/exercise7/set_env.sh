#!/bin/sh
# Exercise 7. Run it on the client while the topology runs: sudo ./set_env.sh
#
# 100 Mbit/s and 40 ms from s1 to s2. Buffers of switch and hosts are too small: task a).
set -eu

port=s1-eth1
# The delay line holds 1000 packets unless told otherwise: not enough for four slow starts at once.
tc qdisc replace dev $port root handle 1: netem delay 40ms limit 10000
tc qdisc replace dev $port parent 1: handle 2: tbf rate 100mbit burst 50000 limit 50000

for host in h1 h2 h3 h4 h5 h6 h7 h8; do
  wanlab-node $host sysctl -q -w "net.ipv4.tcp_rmem=10240 87380 131072"
  wanlab-node $host sysctl -q -w "net.ipv4.tcp_wmem=10240 87380 131072"
done
echo "Exercise 7: 100 Mbit/s, 40 ms"
