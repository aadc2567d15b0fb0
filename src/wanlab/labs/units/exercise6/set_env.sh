#!/bin/sh
# Exercise 6. Run it on the client while the topology runs: sudo ./set_env.sh
#
# 200 Mbit/s and 40 ms from s1 to s2, with a buffer of one BDP in the switch. What the hosts may keep
# under way is less than that: tasks b) to e) are about it.
set -eu

port=s1-eth1
# The delay line holds 1000 packets unless told otherwise: not enough for a slow start's last round.
tc qdisc replace dev $port root handle 1: netem delay 40ms limit 10000
tc qdisc replace dev $port parent 1: handle 2: tbf rate 200mbit burst 100000 limit 1048576

buffers() {  # NODE LARGEST
  wanlab-node "$1" sysctl -q -w "net.ipv4.tcp_rmem=10240 87380 $2"
  wanlab-node "$1" sysctl -q -w "net.ipv4.tcp_wmem=10240 87380 $2"
}
buffers h1 262144
buffers h2 262144
buffers h3 131072
buffers h4 131072
echo "Exercise 6: 200 Mbit/s, 40 ms"
