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

# private directory /var/log of h2
mountpoint -q /run/mounts || { mkdir -p /run/mounts; mount --bind /run/mounts /run/mounts; mount --make-private /run/mounts; }
[ -e /run/mounts/h2 ] || { touch /run/mounts/h2; unshare --mount=/run/mounts/h2 true; }
mkdir -p /var/log
nsenter --net=/run/netns/h2 --mount=/run/mounts/h2 mount -t tmpfs tmpfs /var/log

# private directory /srv of h2
mountpoint -q /run/mounts || { mkdir -p /run/mounts; mount --bind /run/mounts /run/mounts; mount --make-private /run/mounts; }
[ -e /run/mounts/h2 ] || { touch /run/mounts/h2; unshare --mount=/run/mounts/h2 true; }
mkdir -p /srv /tmp/h2
nsenter --net=/run/netns/h2 --mount=/run/mounts/h2 mount --bind /tmp/h2 /srv

# node h3
ip netns add h3
ip -n h3 link set lo up

# CPU of h3: 0.25 of the computer
echo '+cpu' > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/h3
echo "$(awk 'BEGIN { print int(0.25 * '$(nproc)' * 100000) }') 100000" > /sys/fs/cgroup/h3/cpu.max

# switch s3
ip link add s3 type bridge stp_state 1 priority 100
ip link set s3 up

# switch s4
ip link add s4 type bridge stp_state 0 forward_delay 0 vlan_filtering 1
ip link set s4 up

# link h1-eth0 to s1-eth1
ip link add name h1-eth0 netns h1 address 00:00:00:00:00:01 type veth peer name s1-eth1 address 02:00:00:04:00:01
ip -n h1 link set h1-eth0 up
ip link set s1-eth1 up

# link s1-eth2 to s2-eth1
ip link add name s1-eth2 address 02:00:00:04:00:02 type veth peer name s2-eth1 address 02:00:00:05:00:01
ip link set s1-eth2 up
ip link set s2-eth1 up

# link s2-eth2 to s3-eth1
ip link add name s2-eth2 address 02:00:00:05:00:02 type veth peer name s3-eth1 address 02:00:00:06:00:01
ip link set s2-eth2 up
ip link set s3-eth1 master s3 up

# link h2-eth0 to s4-eth1
ip link add name h2-eth0 netns h2 address 00:00:00:00:00:02 type veth peer name s4-eth1 address 02:00:00:07:00:01
ip -n h2 link set h2-eth0 up
ip link set s4-eth1 up

# link s4-eth2 to s3-eth2
ip link add name s4-eth2 address 02:00:00:07:00:02 type veth peer name s3-eth2 address 02:00:00:06:00:02
ip link set s4-eth2 up
ip link set s3-eth2 master s3 up

# link h3-eth0 to s4-eth3
ip link add name h3-eth0 netns h3 address 00:00:00:00:00:03 type veth peer name s4-eth3 address 02:00:00:07:00:03
ip -n h3 link set h3-eth0 up
ip link set s4-eth3 up

# address 10.0.0.1/8 of h1-eth0
ip -n h1 addr add 10.0.0.1/8 brd + dev h1-eth0

# VLAN 10 of h1-eth0
ip -n h1 link add link h1-eth0 name h1-eth0.10 type vlan id 10
ip -n h1 link set h1-eth0.10 up

# address 10.1.0.1/24 of h1-eth0.10
ip -n h1 addr add 10.1.0.1/24 brd + dev h1-eth0.10

# address 10.0.0.2/8 of h2-eth0
ip -n h2 addr add 10.0.0.2/8 brd + dev h2-eth0

# address 10.0.0.3/8 of h3-eth0
ip -n h3 addr add 10.0.0.3/8 brd + dev h3-eth0

# queueing of s2-eth2
tc qdisc add dev s2-eth2 root handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s2-eth2 parent 2: handle 3: pfifo limit 1000

# queueing of s3-eth1
tc qdisc add dev s3-eth1 root handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s3-eth1 parent 2: handle 3: pfifo limit 1000

# file /etc/hosts
cat > /etc/hosts <<'END'
127.0.0.1 localhost
::1 localhost
10.0.0.1 h1
10.0.0.2 h2
10.0.0.3 h3
END

# Open vSwitch
mkdir -p /var/run/openvswitch
ovsdb-tool create /var/run/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server /var/run/openvswitch/conf.db --remote=punix:/var/run/openvswitch/db.sock --log-file=/var/run/openvswitch/ovsdb-server.log -vconsole:off -vsyslog:off --no-chdir --pidfile --detach
ovs-vswitchd unix:/var/run/openvswitch/db.sock --log-file=/var/run/openvswitch/ovs-vswitchd.log -vconsole:off -vsyslog:off --no-chdir --pidfile --detach

# controller c0
wanlab-controller 127.0.0.1 6633 --detach --pidfile /run/wanlab/c0.pid --log /tmp/c0.log

# switch s1
ovs-vsctl --may-exist add-br s1 \
    -- set bridge s1 other-config:datapath-id=0000000000000001 other-config:dp-desc=s1 fail_mode=secure other-config:disable-in-band=true protocols=OpenFlow10,OpenFlow13 \
    -- --id=@s1c0 create Controller 'target="tcp:127.0.0.1:6633"' max_backoff=1000 inactivity_probe=0 \
    -- --id=@s1c1 create Controller 'target="tcp:10.0.0.3:6653"' max_backoff=1000 \
    -- --id=@s1c2 create Controller 'target="ptcp:6654"' \
    -- set bridge s1 'controller=[@s1c0,@s1c1,@s1c2]' \
    -- --id=@s1n create NetFlow 'targets="10.0.0.1:9996"' active_timeout=600 add_id_to_interface=true \
    -- set bridge s1 netflow=@s1n \
    -- --id=@s1s create sFlow 'targets="10.0.0.1:6343"' agent=s1 header=128 sampling=10 polling=30 \
    -- set bridge s1 sflow=@s1s

# switch s2
ovs-vsctl --may-exist add-br s2 \
    -- set bridge s2 other-config:datapath-id=00000000000000ab other-config:dp-desc=s2 fail_mode=standalone other-config:disable-in-band=true datapath_type=netdev stp_enable=true other-config:stp-priority=4096 \
    -- set bridge s2 'controller=[]'

# s1 up
ip link set s1 up

# address 10.0.0.100/8 of s1
ip addr add 10.0.0.100/8 brd + dev s1

# port s2-eth1 in switch s2
ovs-vsctl --may-exist add-port s2 s2-eth1 \
    -- set Interface s2-eth1 ofport_request=1 \
    -- --id=@s2-eth1 create QoS type=linux-noop \
    -- set Port s2-eth1 qos=@s2-eth1

# port s2-eth2 in switch s2
ovs-vsctl --may-exist add-port s2 s2-eth2 \
    -- set Interface s2-eth2 ofport_request=2 \
    -- --id=@s2-eth2 create QoS type=linux-noop \
    -- set Port s2-eth2 qos=@s2-eth2

# port s1-eth1 in switch s1
ovs-vsctl --may-exist add-port s1 s1-eth1 tag=1 vlan_mode=native-untagged trunks=10 \
    -- set Interface s1-eth1 ofport_request=1 \
    -- --id=@s1-eth1 create QoS type=linux-noop \
    -- set Port s1-eth1 qos=@s1-eth1

# port s1-eth2 in switch s1
ovs-vsctl --may-exist add-port s1 s1-eth2 \
    -- set Interface s1-eth2 ofport_request=2 \
    -- --id=@s1-eth2 create QoS type=linux-noop \
    -- set Port s1-eth2 qos=@s1-eth2

# port s4-eth1 in switch s4
ip link set s4-eth1 master s4

# port s4-eth2 in switch s4
ip link set s4-eth2 master s4

# port s4-eth3 in switch s4
ip link set s4-eth3 master s4

# VLANs of s4-eth1
bridge vlan del dev s4-eth1 vid 1
bridge vlan add dev s4-eth1 vid 10 pvid untagged

# VLANs of s4-eth2
bridge vlan del dev s4-eth2 vid 1
bridge vlan add dev s4-eth2 vid 10
bridge vlan add dev s4-eth2 vid 20

# switches connected to controller c0: 1
until [ "$(grep connected, /tmp/c0.log | sort -u | wc -l)" -ge 1 ]; do sleep 0.05; done
