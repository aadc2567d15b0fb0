#!/bin/sh
# Print the messages that `ip` sends to the kernel in hexadecimal: unshare -n sh capture.sh > links.txt
set -e
ip link set lo up
capture() {
  echo "$*"
  strace -e trace=sendmsg -e write=3 "$@" 2>&1 | sed -n 's/^ | [0-9a-f]*  \(.\{48\}\).*/    \1/p' |
    sed 's/ *$//'
}
capture ip link add name s1 up type bridge stp_state 1 priority 4096
capture ip link add name s2 up type bridge stp_state 0 forward_delay 0
capture ip link add name a0 address 00:00:00:00:00:01 mtu 9000 up type veth peer name b0 address 02:00:00:03:00:01 mtu 9000
capture ip link set a0 up
capture ip link set a0 down
capture ip link set b0 master s1 up
capture ip addr add 10.0.0.1/8 brd + dev a0
capture ip addr add 10.1.0.1/32 dev a0
capture ip addr add 2001:db8::1/64 dev a0 nodad
