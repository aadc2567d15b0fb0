#!/bin/sh
# Builds this topology by hand, as wanlab does. It changes settings of the kernel and files below
# /etc, so it runs in a machine of wanlab only: wanlab exec -- sh THIS_FILE
set -e
case $(uname -r) in
*-wanlab*) ;;
*)
  echo "$0 would replace files below /etc; run: wanlab exec -- sh $0" >&2
  exit 1
  ;;
esac

# net.core.netdev_max_backlog = 1000000 in root
sysctl -qw net.core.netdev_max_backlog=1000000

# node h1
ip netns add h1
ip -n h1 link set lo up

# node h2
ip netns add h2
ip -n h2 link set lo up

# link h1-eth0 to h2-eth0
ip link add name h1-eth0 netns h1 address 00:00:00:00:00:01 type veth peer name h2-eth0 netns h2 address 00:00:00:00:00:02
ip -n h1 link set h1-eth0 up
ip -n h2 link set h2-eth0 up

# address 10.0.0.1/8 of h1-eth0
ip -n h1 addr add 10.0.0.1/8 brd + dev h1-eth0

# address 10.0.0.2/8 of h2-eth0
ip -n h2 addr add 10.0.0.2/8 brd + dev h2-eth0

# queueing of h1-eth0
ip netns exec h1 tc qdisc add dev h1-eth0 root handle 1: netem limit 1000000 delay 5ms
ip netns exec h1 tc qdisc add dev h1-eth0 parent 1: handle 2: opportunity
ip netns exec h1 tc qdisc add dev h1-eth0 parent 2: handle 3: codel

# delivery opportunities of h1-eth0: 4
ip netns exec h1 wanlab-opportunities h1-eth0 2: once <<'END'
1
1
2
9
END

# queueing of h2-eth0
ip netns exec h2 tc qdisc add dev h2-eth0 root handle 1: netem limit 1000000 delay 5ms
ip netns exec h2 tc qdisc add dev h2-eth0 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
ip netns exec h2 tc qdisc add dev h2-eth0 parent 2: handle 3: pfifo limit 1000

# file /etc/hosts
cat > /etc/hosts <<'END'
127.0.0.1 localhost
::1 localhost
10.0.0.1 h1
10.0.0.2 h2
END

# schedule of h2-eth0
(
  while :; do
    sleep 1
    ip netns exec h2 tc qdisc change dev h2-eth0 handle 2: tbf rate 2000000bit burst 3028 limit 1000
    sleep 0.5
    ip netns exec h2 tc qdisc change dev h2-eth0 handle 1: netem limit 1000000 delay 5ms loss 1%
    sleep 1.5
    ip netns exec h2 tc qdisc change dev h2-eth0 handle 2: tbf rate 10000000bit burst 3028 limit 1000
    ip netns exec h2 tc qdisc change dev h2-eth0 handle 1: netem limit 1000000 delay 5ms
  done
) &
