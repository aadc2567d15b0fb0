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

# node h4
ip netns add h4
ip -n h4 link set lo up

# switch s1
ip link add s1 type bridge stp_state 0 forward_delay 0
ip link set s1 up

# switch s2
ip link add s2 type bridge stp_state 0 forward_delay 0
ip link set s2 up

# link h1-eth0 to s1-eth1
ip link add name h1-eth0 netns h1 address 00:00:00:00:00:01 type veth peer name s1-eth1 address 02:00:00:05:00:01
ip -n h1 link set h1-eth0 up
ip link set s1-eth1 up

# link h2-eth0 to s1-eth2
ip link add name h2-eth0 netns h2 address 00:00:00:00:00:02 type veth peer name s1-eth2 address 02:00:00:05:00:02
ip -n h2 link set h2-eth0 up
ip link set s1-eth2 up

# link s1-eth3 to s2-eth1
ip link add name s1-eth3 address 02:00:00:05:00:03 type veth peer name s2-eth1 address 02:00:00:06:00:01
ip link set s1-eth3 up
ip link set s2-eth1 up

# link s2-eth2 to h3-eth0
ip link add name s2-eth2 address 02:00:00:06:00:02 type veth peer name h3-eth0 netns h3 address 00:00:00:00:00:03
ip link set s2-eth2 up
ip -n h3 link set h3-eth0 up

# link s2-eth3 to h4-eth0
ip link add name s2-eth3 address 02:00:00:06:00:03 type veth peer name h4-eth0 netns h4 address 00:00:00:00:00:04
ip link set s2-eth3 up
ip -n h4 link set h4-eth0 up

# address 10.0.0.1/8 of h1-eth0
ip -n h1 addr add 10.0.0.1/8 brd + dev h1-eth0

# address 10.0.0.2/8 of h2-eth0
ip -n h2 addr add 10.0.0.2/8 brd + dev h2-eth0

# address 10.0.0.3/8 of h3-eth0
ip -n h3 addr add 10.0.0.3/8 brd + dev h3-eth0

# address 10.0.0.4/8 of h4-eth0
ip -n h4 addr add 10.0.0.4/8 brd + dev h4-eth0

# wire of h1-eth0: packets of one MTU
ip netns exec h1 ethtool --set-priv-flags h1-eth0 mtu-wire on

# offloads of h1-eth0: tso on gso on gro on
ip netns exec h1 ethtool -K h1-eth0 tso on gso on gro on

# interrupt coalescing of h1-eth0: 250 us
ip netns exec h1 ethtool -C h1-eth0 adaptive-rx on rx-usecs 250

# wire of h2-eth0: packets of one MTU
ip netns exec h2 ethtool --set-priv-flags h2-eth0 mtu-wire on

# offloads of h2-eth0: tso on gso on gro on
ip netns exec h2 ethtool -K h2-eth0 tso on gso on gro on

# interrupt coalescing of h2-eth0: 250 us
ip netns exec h2 ethtool -C h2-eth0 adaptive-rx on rx-usecs 250

# wire of h3-eth0: packets of one MTU
ip netns exec h3 ethtool --set-priv-flags h3-eth0 mtu-wire on

# offloads of h3-eth0: tso on gso on gro on
ip netns exec h3 ethtool -K h3-eth0 tso on gso on gro on

# interrupt coalescing of h3-eth0: 250 us
ip netns exec h3 ethtool -C h3-eth0 adaptive-rx on rx-usecs 250

# wire of h4-eth0: packets of one MTU
ip netns exec h4 ethtool --set-priv-flags h4-eth0 mtu-wire on

# offloads of h4-eth0: tso on gso on gro on
ip netns exec h4 ethtool -K h4-eth0 tso on gso on gro on

# interrupt coalescing of h4-eth0: 250 us
ip netns exec h4 ethtool -C h4-eth0 adaptive-rx on rx-usecs 250

# wire of s1-eth1: packets of one MTU
ethtool --set-priv-flags s1-eth1 mtu-wire on

# offloads of s1-eth1: tso off gso off gro off
ethtool -K s1-eth1 tso off gso off gro off

# wire of s1-eth2: packets of one MTU
ethtool --set-priv-flags s1-eth2 mtu-wire on

# offloads of s1-eth2: tso off gso off gro off
ethtool -K s1-eth2 tso off gso off gro off

# wire of s1-eth3: packets of one MTU
ethtool --set-priv-flags s1-eth3 mtu-wire on

# offloads of s1-eth3: tso off gso off gro off
ethtool -K s1-eth3 tso off gso off gro off

# queueing of s1-eth3
tc qdisc add dev s1-eth3 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth3 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth3 parent 2: handle 3: pfifo limit 1000

# wire of s2-eth1: packets of one MTU
ethtool --set-priv-flags s2-eth1 mtu-wire on

# offloads of s2-eth1: tso off gso off gro off
ethtool -K s2-eth1 tso off gso off gro off

# queueing of s2-eth1
tc qdisc add dev s2-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s2-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s2-eth1 parent 2: handle 3: pfifo limit 1000

# wire of s2-eth2: packets of one MTU
ethtool --set-priv-flags s2-eth2 mtu-wire on

# offloads of s2-eth2: tso off gso off gro off
ethtool -K s2-eth2 tso off gso off gro off

# wire of s2-eth3: packets of one MTU
ethtool --set-priv-flags s2-eth3 mtu-wire on

# offloads of s2-eth3: tso off gso off gro off
ethtool -K s2-eth3 tso off gso off gro off

# file /etc/hosts
cat > /etc/hosts <<'END'
127.0.0.1 localhost
::1 localhost
10.0.0.1 h1
10.0.0.2 h2
10.0.0.3 h3
10.0.0.4 h4
END

# port s1-eth1 in switch s1
ip link set s1-eth1 master s1

# port s1-eth2 in switch s1
ip link set s1-eth2 master s1

# port s1-eth3 in switch s1
ip link set s1-eth3 master s1

# port s2-eth1 in switch s2
ip link set s2-eth1 master s2

# port s2-eth2 in switch s2
ip link set s2-eth2 master s2

# port s2-eth3 in switch s2
ip link set s2-eth3 master s2
