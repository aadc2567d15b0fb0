#!/bin/bash
# Captures the outputs that need every queue and congestion control; runs as init of the embedded kernel:
#
#     linux time-travel=inf-cpu mem=1G root=/dev/root rootfstype=hostfs rootflags=/ rw
#         init=$PWD/capture_queues.sh OUT=FOLDER con0=fd:0,fd:1 con=null quiet </dev/null
#
# One wire per queue, 10 Mbit/s before it, one flow that understands ECN on each:
#
#     q-KIND [htb 1: > KIND] ------------- KIND-eth0
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
here=$(cd "$(dirname "$0")" && pwd)
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
cd "$OUT" || exit
ip link set lo up
sysctl -qw net.ipv4.tcp_ecn=1
sleep 10 # ping mistakes a smaller uptime for "never sent"
number=0
while read -r kind options; do
    number=$((number + 1))
    ip netns add "$kind"
    ip link add "q-$kind" type veth peer name "$kind-eth0" netns "$kind"
    ip addr add "10.$number.0.1/24" dev "q-$kind"
    ip link set "q-$kind" up
    ip -n "$kind" addr add "10.$number.0.2/24" dev "$kind-eth0"
    ip -n "$kind" link set "$kind-eth0" up
    ip netns exec "$kind" sysctl -qw net.ipv4.tcp_ecn=1
    ethtool -K "q-$kind" tso off gso off
    tc qdisc add dev "q-$kind" root handle 1: htb default 1
    tc class add dev "q-$kind" parent 1: classid 1:1 htb rate 10mbit
    # shellcheck disable=SC2086
    tc qdisc add dev "q-$kind" parent 1:1 handle 2: $kind $options
    ip netns exec "$kind" iperf3 -s -1 -D
    sleep 1
    iperf3 -c "10.$number.0.2" -t 1 -C reno > /dev/null < /dev/null
done <<KINDS
red limit 400000 min 3000 max 9000 avpkt 1500 burst 5 bandwidth 10mbit ecn
choke limit 100 bandwidth 10mbit min 5 max 20 ecn
sfb
codel ecn
fq_codel ecn
fq ce_threshold 1ms
pie ecn
fq_pie ecn
cake
sfq
hhf
netem delay 5ms
KINDS
for congestion in vegas dctcp; do
    ip netns exec codel iperf3 -s -1 -D
    sleep 2
    iperf3 -c 10.4.0.2 -t 3 -C $congestion > /dev/null < /dev/null &
    sleep 2
    python3 "$here/dump.py" tcp tcp_$congestion.bin
    TCPDIAG_FILE=tcp_$congestion.bin ss -tin > tcp_$congestion.txt
    wait
    sleep 2
done
sleep 5
tc -s -j qdisc show > queues.json
python3 "$here/dump.py" qdisc queues.bin
ip -o link | cut -d: -f1-2 | cut -d@ -f1 > queues_interfaces.txt
{ uname -srm; tc -V; } > queues_versions.txt
sync
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)' # RB_POWER_OFF
