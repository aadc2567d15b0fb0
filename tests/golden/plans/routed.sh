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

# net.ipv6.conf.default.disable_ipv6 = 1 in root
sysctl -qw net.ipv6.conf.default.disable_ipv6=1

# node h1
ip netns add h1
ip -n h1 link set lo up

# node h2
ip netns add h2
ip -n h2 link set lo up

# node h3
ip netns add h3
ip -n h3 link set lo up

# node r1
ip netns add r1
ip -n r1 link set lo up

# net.ipv4.ip_forward = 1 in r1
ip netns exec r1 sysctl -qw net.ipv4.ip_forward=1

# net.ipv6.conf.all.forwarding = 1 in r1
ip netns exec r1 sysctl -qw net.ipv6.conf.all.forwarding=1

# switch s1
ip link add s1 type bridge stp_state 1
ip link set s1 up

# link h1-eth0 to r1-eth0
ip link add name h1-eth0 netns h1 address 00:00:00:00:00:01 type veth peer name r1-eth0 netns r1 address 02:00:00:04:00:00
ip -n h1 link set h1-eth0 up
ip -n r1 link set r1-eth0 up

# link r1-eth1 to h2-eth0
ip link add name r1-eth1 netns r1 address 02:00:00:04:00:01 mtu 9000 type veth peer name h2-eth0 netns h2 address 00:00:00:00:00:02 mtu 9000
ip -n r1 link set r1-eth1 up
ip -n h2 link set h2-eth0 up

# link h3-eth0 to s1-eth1
ip link add name h3-eth0 netns h3 address 00:00:00:00:00:03 type veth peer name s1-eth1 address 02:00:00:05:00:01
ip -n h3 link set h3-eth0 up
ip link set s1-eth1 master s1 up

# link r1-eth2 to s1-eth2
ip link add name r1-eth2 netns r1 address 02:11:22:33:44:55 type veth peer name s1-eth2 address 02:00:00:05:00:02
ip -n r1 link set r1-eth2 up
ip link set s1-eth2 master s1 up

# address 10.0.1.2/24 of h1-eth0
ip -n h1 addr add 10.0.1.2/24 brd + dev h1-eth0

# route default via 10.0.1.1 of h1
ip -n h1 route add default via 10.0.1.1

# address 10.0.2.2/24 of h2-eth0
ip -n h2 addr add 10.0.2.2/24 brd + dev h2-eth0

# route default via 10.0.2.1 dev h2-eth0 of h2
ip -n h2 route add default via 10.0.2.1 dev h2-eth0

# address 10.0.0.3/8 of h3-eth0
ip -n h3 addr add 10.0.0.3/8 brd + dev h3-eth0

# address 10.0.1.1/24 of r1-eth0
ip -n r1 addr add 10.0.1.1/24 brd + dev r1-eth0

# address 10.0.2.1/24 of r1-eth1
ip -n r1 addr add 10.0.2.1/24 brd + dev r1-eth1

# address fd00::1/64 of r1-eth2
ip -n r1 addr add fd00::1/64 nodad dev r1-eth2

# route 10.9.0.0/16 via 10.0.2.2 of r1
ip -n r1 route add 10.9.0.0/16 via 10.0.2.2

# address 10.0.3.9/24 of s1
ip addr add 10.0.3.9/24 brd + dev s1

# wire of h1-eth0: packets of one MTU
ip netns exec h1 ethtool --set-priv-flags h1-eth0 mtu-wire on

# offloads of h1-eth0: tso off gso off gro on
ip netns exec h1 ethtool -K h1-eth0 tso off gso off gro on

# interrupt coalescing of h1-eth0: 250 us
ip netns exec h1 ethtool -C h1-eth0 adaptive-rx on rx-usecs 250

# queueing of h1-eth0
ip netns exec h1 tc qdisc add dev h1-eth0 root handle 1: netem limit 1000000 delay 5ms
ip netns exec h1 tc qdisc add dev h1-eth0 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
ip netns exec h1 tc qdisc add dev h1-eth0 parent 2: handle 3: pfifo limit 1000

# speed of h2-eth0: 1000 Mbit/s
ip netns exec h2 ethtool -s h2-eth0 speed 1000

# wire of h2-eth0: packets of one MTU
ip netns exec h2 ethtool --set-priv-flags h2-eth0 mtu-wire on

# offloads of h2-eth0: tso off gso off gro on
ip netns exec h2 ethtool -K h2-eth0 tso off gso off gro on

# interrupt coalescing of h2-eth0: 250 us
ip netns exec h2 ethtool -C h2-eth0 adaptive-rx on rx-usecs 250

# queueing of h2-eth0
ip netns exec h2 tc qdisc add dev h2-eth0 root handle 1: netem limit 1000000 delay 1.5ms 100us loss 0.01%

# wire of h3-eth0: packets of one MTU
ip netns exec h3 ethtool --set-priv-flags h3-eth0 mtu-wire on

# offloads of h3-eth0: tso on gso on gro on
ip netns exec h3 ethtool -K h3-eth0 tso on gso on gro on

# interrupt coalescing of h3-eth0: 250 us
ip netns exec h3 ethtool -C h3-eth0 adaptive-rx on rx-usecs 250

# wire of r1-eth0: packets of one MTU
ip netns exec r1 ethtool --set-priv-flags r1-eth0 mtu-wire on

# offloads of r1-eth0: tso off gso off gro off
ip netns exec r1 ethtool -K r1-eth0 tso off gso off gro off

# wire of r1-eth1: packets of one MTU
ip netns exec r1 ethtool --set-priv-flags r1-eth1 mtu-wire on

# offloads of r1-eth1: tso off gso off gro off
ip netns exec r1 ethtool -K r1-eth1 tso off gso off gro off

# queueing of r1-eth1
ip netns exec r1 tc qdisc add dev r1-eth1 root handle 1: netem limit 1000000 delay 1.5ms 100us loss 0.01%

# wire of r1-eth2: packets of one MTU
ip netns exec r1 ethtool --set-priv-flags r1-eth2 mtu-wire on

# offloads of r1-eth2: tso off gso off gro off
ip netns exec r1 ethtool -K r1-eth2 tso off gso off gro off

# wire of s1-eth1: packets of one MTU
ethtool --set-priv-flags s1-eth1 mtu-wire on

# offloads of s1-eth1: tso off gso off gro off
ethtool -K s1-eth1 tso off gso off gro off

# wire of s1-eth2: packets of one MTU
ethtool --set-priv-flags s1-eth2 mtu-wire on

# offloads of s1-eth2: tso off gso off gro off
ethtool -K s1-eth2 tso off gso off gro off

# file /etc/hosts
cat > /etc/hosts <<'END'
127.0.0.1 localhost
::1 localhost
10.0.1.2 h1
10.0.2.2 h2
10.0.0.3 h3
10.0.1.1 r1
fd00::1 r1
END

# start command of h3: echo it's started > /tmp/h3
ip netns exec h3 sh -c 'echo it'"'"'s started > /tmp/h3'
