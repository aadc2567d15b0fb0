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

# switch s1
ip link add s1 type bridge stp_state 0 forward_delay 0
ip link set s1 up

# link h1-eth0 to s1-eth1
ip link add name h1-eth0 netns h1 address 00:00:00:00:00:01 type veth peer name s1-eth1 address 02:00:00:04:00:01
ip -n h1 link set h1-eth0 up
ip link set s1-eth1 up

# link s1-eth2 to h3-eth0
ip link add name s1-eth2 address 02:00:00:04:00:02 type veth peer name h3-eth0 netns h3 address 00:00:00:00:00:03
ip link set s1-eth2 up
ip -n h3 link set h3-eth0 up

# link h2-eth0 to s1-eth3
ip link add name h2-eth0 netns h2 address 00:00:00:00:00:02 type veth peer name s1-eth3 address 02:00:00:04:00:03
ip -n h2 link set h2-eth0 up
ip link set s1-eth3 up

# address 10.0.0.1/8 of h1-eth0
ip -n h1 addr add 10.0.0.1/8 brd + dev h1-eth0

# address 10.0.0.2/8 of h2-eth0
ip -n h2 addr add 10.0.0.2/8 brd + dev h2-eth0

# address 10.0.0.3/8 of h3-eth0
ip -n h3 addr add 10.0.0.3/8 brd + dev h3-eth0

# file /etc/hosts
cat > /etc/hosts <<'END'
127.0.0.1 localhost
::1 localhost
10.0.0.1 h1
10.0.0.2 h2
10.0.0.3 h3
END

# port s1-eth1 in switch s1
ip link set s1-eth1 master s1

# port s1-eth2 in switch s1
ip link set s1-eth2 master s1

# port s1-eth3 in switch s1
ip link set s1-eth3 master s1
