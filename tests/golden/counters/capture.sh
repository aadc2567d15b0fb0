#!/bin/sh
# Captures the outputs in this folder from the tools and the kernel of this computer.
#
#     h1 -------- s1-eth1 [ bridge s1 ] s1-eth2 -------- h3        h2 -------- s1-eth3
#
# Run it as root: `unshare --net --mount ./capture.sh FOLDER`. It touches nothing outside its namespaces
# and FOLDER. The queue (tbf, 50 Mbit/s) is at s1-eth2, as in Lab 14.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

mount -t tmpfs none /run
ip link set lo up
ip link add s1 type bridge
ip link set s1 up
number=1
for host in h1 h3 h2; do
    ip netns add $host
    ip link add s1-eth$number type veth peer name $host-eth0 netns $host
    ip link set s1-eth$number master s1 up
    ip -n $host link set lo up
    ip -n $host link set $host-eth0 up
    ip -n $host addr add 10.0.0.${host#h}/8 brd + dev $host-eth0
    number=$((number + 1))
done
at() { host=$1; shift; ip netns exec "$host" "$@"; }

# --- ping
at h1 ping -c 5 -i 0.2 10.0.0.3 > ping_plain.txt
at h1 ping -c 3 -i 0.2 -D 10.0.0.3 > ping_timestamps.txt
at h1 ping -c 4 -i 0.2 -q 10.0.0.3 > ping_quiet.txt
at h1 ping -c 2 -i 0.2 fe80::"$(at h3 ip -6 -o addr show dev h3-eth0 | sed 's/.*fe80::\([^/]*\).*/\1/')"%h1-eth0 > ping_ipv6.txt || :
at h1 ping -c 4 -O 10.0.0.77 > ping_unreachable.txt || :
at h3 ip link set h3-eth0 down
(sleep 0.5; at h3 ip link set h3-eth0 up) &
at h1 ping -c 6 -i 0.2 -O 10.0.0.3 > ping_loss.txt || :
wait
at h1 ping -c 1 nowhere.invalid > ping_unknown_host.txt 2>&1 || :
at h1 ping -c 50 -f 10.0.0.3 > ping_flood.txt
at h1 ping -c 2 -i 0.2 -s 8 10.0.0.3 > ping_short.txt
# Two hosts with one address, reached by broadcast, both reply: a true duplicate.
for host in h2 h3; do at $host ip addr add 10.0.0.99/32 dev $host-eth0; done
at h1 ip neigh add 10.0.0.99 lladdr ff:ff:ff:ff:ff:ff dev h1-eth0
at h1 ping -c 3 -i 0.2 10.0.0.99 > ping_duplicates.txt

# --- iperf3, with a queue that fills
tc qdisc add dev s1-eth2 root handle 1: htb default 10
tc class add dev s1-eth2 parent 1: classid 1:10 htb rate 50mbit burst 16k
tc qdisc add dev s1-eth2 parent 1:10 handle 10: tbf rate 50mbit burst 32000 limit 160000
server() { at h3 iperf3 -s -1 -D; sleep 0.3; }
server; at h1 iperf3 -c 10.0.0.3 -t 2 -i 0.2 -C cubic -J > iperf3_tcp.json &
sleep 0.8
tc -s -j qdisc show dev s1-eth2 > qdisc_tbf_under_htb.json
at h1 python3 "$here/dump.py" tcp tcp_cubic.bin
TCPDIAG_FILE=tcp_cubic.bin ss -tin > tcp_cubic.txt
wait
server; at h1 iperf3 -c 10.0.0.3 -t 2 -i 1 -C bbr -P 3 -J > iperf3_tcp_streams.json &
sleep 0.8
at h1 python3 "$here/dump.py" tcp tcp_bbr.bin
TCPDIAG_FILE=tcp_bbr.bin ss -tin > tcp_bbr.txt # the output of ss for the same bytes
wait
server; at h1 iperf3 -c 10.0.0.3 -t 1 -i 0.5 -R -J > iperf3_tcp_reverse.json
server; at h1 iperf3 -c 10.0.0.3 -t 1 -i 0.5 -u -b 80M -J > iperf3_udp.json
server; at h1 iperf3 -c 10.0.0.3 -t 1 -i 0.5 --bidir -J > iperf3_bidirectional.json
at h1 iperf3 -c 10.0.0.3 -t 1 -J > iperf3_no_server.json || :
server; at h1 timeout -s INT 1.3 iperf3 -c 10.0.0.3 -t 9 -i 0.5 -J > iperf3_interrupted.json || :
sleep 0.5
at h3 iperf3 -s -1 -J > iperf3_server.json &
sleep 0.3
at h1 iperf3 -c 10.0.0.3 -t 1 -i 0.5 > iperf3_text.txt
wait

# --- tc
tc -s -j qdisc show > qdisc_all.json
python3 "$here/dump.py" qdisc qdisc_all.bin
ip -o link | cut -d: -f1-2 | cut -d@ -f1 > interfaces.txt
{ uname -srm; ping -V; iperf3 --version | head -n 1; tc -V; } > versions.txt
