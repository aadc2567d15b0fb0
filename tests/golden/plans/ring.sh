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

# folder of FRRouting's configurations
mountpoint -q /etc/frr || mount -t tmpfs -o mode=755 frr /etc/frr
touch /etc/frr/vtysh.conf

# node r1
ip netns add r1
ip -n r1 link set lo up

# net.ipv4.ip_forward = 1 in r1
ip netns exec r1 sysctl -qw net.ipv4.ip_forward=1

# net.ipv6.conf.all.forwarding = 1 in r1
ip netns exec r1 sysctl -qw net.ipv6.conf.all.forwarding=1

# node r2
ip netns add r2
ip -n r2 link set lo up

# net.ipv4.ip_forward = 1 in r2
ip netns exec r2 sysctl -qw net.ipv4.ip_forward=1

# net.ipv6.conf.all.forwarding = 1 in r2
ip netns exec r2 sysctl -qw net.ipv6.conf.all.forwarding=1

# link r1-eth0 to r2-eth0
ip link add name r1-eth0 netns r1 address 02:00:00:01:00:00 type veth peer name r2-eth0 netns r2 address 02:00:00:02:00:00
ip -n r1 link set r1-eth0 up
ip -n r2 link set r2-eth0 up

# the computer's eth7 in r2
ip link set eth7 netns r2
ip -n r2 link set eth7 up

# address 10.0.1.1/24 of r1-eth0
ip -n r1 addr add 10.0.1.1/24 brd + dev r1-eth0

# address 10.0.1.2/24 of r2-eth0
ip -n r2 addr add 10.0.1.2/24 brd + dev r2-eth0

# file /etc/hosts
cat > /etc/hosts <<'END'
127.0.0.1 localhost
::1 localhost
10.0.1.1 r1
10.0.1.2 r2
END

# FRRouting in r1: zebra, staticd, ospfd
mkdir -p /etc/frr/r1 /var/run/frr/r1
cat > /etc/frr/r1/frr.conf <<'END'
router ospf
 network 10.0.0.0/8 area 0
END
touch /etc/frr/r1/vtysh.conf
chown -R frr: /etc/frr/r1 /var/run/frr/r1
ip netns exec r1 /usr/lib/frr/zebra -d -N r1 -A 127.0.0.1
ip netns exec r1 /usr/lib/frr/staticd -d -N r1 -A 127.0.0.1
ip netns exec r1 /usr/lib/frr/ospfd -d -N r1 -A 127.0.0.1

# frr.conf of r1
vtysh -N r1 -b
