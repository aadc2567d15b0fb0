"""Debian's ordinary programs work in a node as on the computer: status, messages, and headings.

Each is run once. One that is not installed, or that fails on the computer itself, is left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wanlab import Network, shapes

pytestmark = [
    pytest.mark.machine,
    pytest.mark.costs(3),
    pytest.mark.skipif(
        "7.3" in os.environ.get("WANLAB_KERNEL", ""),
        reason="Linux 7.3 lacks the patches that ps and sandboxes need",
    ),
]

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LONGEST_REAL_S = 120
"""A program that takes longer on the computer is left out."""
COMMANDS = """
ps
ps -ef
ps aux
ps -eLf
ps -eo pid,ppid,comm,stat,rss,etime
ps axjf
top -b -n 1
top -b -n 2 -d 0.1
vmstat
vmstat -s
vmstat -a
vmstat -w 1 2
vmstat -D
vmstat -m
slabtop -o
free
free -h
uptime
uptime -p
w
w -h
pgrep -l .
pmap $$
sysctl -n kernel.ostype
sysctl net.ipv4.tcp_congestion_control
kill -l
pstree
pstree -p
killall -l
lscpu
lscpu -e
lsns
lsipc
lslocks
lsmem
lsmem -a --output-all
lsblk
blkid -k
swapon --show
swapon -s
ionice
ionice -c 3 true
ionice -p 1
mount
findmnt /proc
mountpoint /
ipcs
taskset -p 1
chrt -p 1
prlimit
flock . true
setsid true
unshare -Ur true
unshare -Urpf --mount-proc true
unshare -Urn ip link
cal 1 2026
column -t /etc/hosts
hexdump -C /etc/hostname
namei /bin/sh
rev /etc/hosts
uuidgen -s -n @dns -N a
getopt a -a
mcookie
script -qc true /dev/null
who
who -b
users
id
groups
hostname
uname
uname -m
nproc
date -u +%Z
df -P .
df -i .
du -s /etc/hosts
stat -c %F /
stat -f -c %T /proc
env true
nice true
nohup true
timeout 5 true
stdbuf -oL true
sleep 0.01
seq 3
factor 12
sha256sum /etc/hosts
md5sum /etc/hosts
od -c /etc/hostname
realpath .
readlink -f /bin/sh
mktemp -u
ls -l /proc/self/fd
ls -la /sys/class/net
ls /dev
getent hosts localhost
getent passwd root
locale
getconf PAGESIZE
getconf -a
ldd /bin/ls
ldconfig -p
tput cols
tput -T xterm bold
infocmp xterm
clear
file /bin/sh
find /proc/self -maxdepth 1
find /sys
find /proc/sys
xargs -a /dev/null true
lsof -v
lsof -p 1
htop --version
ip addr
ip -br addr
ip -s link
ip -d link
ip route
ip -6 route
ip rule
ip neigh
ip maddr
ip netns
ip -j addr
ip tunnel
ss
ss -s
ss -tan
ss -lun
ss -xa
tc qdisc
tc -s qdisc show dev lo
bridge link
bridge fdb
nstat -az
ifconfig
ifconfig lo
netstat -rn
netstat -i
netstat -s
netstat -tln
route -n
arp -n
mii-tool -V
ethtool lo
ethtool -k lo
ping -c 1 127.0.0.1
ping -6 -c 1 ::1
traceroute -n 127.0.0.1
tracepath -n 127.0.0.1
iptables -L -n
iptables-save
nft list ruleset
conntrack -L
iostat
iostat -x
mpstat
mpstat -P ALL
pidstat
systemd-detect-virt --container
gcc --version
make --version
gdb --version
strace -V
python3 -c 'import os; os.sched_getaffinity(0); os.getloadavg(); os.cpu_count()'
python3 -c 'import platform; platform.uname(); platform.libc_ver()'
python3 -c 'import resource; resource.getrusage(0); resource.getrlimit(7)'
python3 -c 'import multiprocessing as m; m.Lock(); m.Queue()'
python3 -c 'import socket; socket.getaddrinfo("localhost", 80); socket.if_nameindex()'
node -e 'os.cpus(); os.networkInterfaces(); os.uptime(); os.loadavg()'
perl -e 'use Socket; print getpwuid(0) ? 0 : 1'
java -version
busybox ps
busybox top -b -n 1
bwrap --ro-bind / / --unshare-all --proc /proc --dev /dev true
"""
TABLES = ("ps", "vmstat", "free", "lsns", "lsipc", "netstat", "route", "df")
"""Their first line is a heading, which has the same words everywhere."""

MAY_BE_EMPTY = {
    *("arp -n", "ip neigh", "ip rule", "ip -6 route", "ip netns", "ip tunnel", "lslocks"),
    *("iptables-save", "nft list ruleset", "conntrack -L"),
    *("bridge fdb", "bridge link", "ss", "ss -tan", "ss -lun", "ss -xa"),
    *("who", "who -b", "users", "w -h"),
    "lsblk",
}
"""A node begins without what they list."""


def words(line: str) -> list[str]:
    return re.findall(r"[A-Za-z%+]+", line)


def on_computer(command: str, folder: Path) -> tuple[int, str, str]:
    environment = {"PATH": PATH, "HOME": "/", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    try:
        done = subprocess.run(
            ["sh", "-c", command],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_REAL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, "", ""
    return done.returncode, done.stdout, done.stderr


def test_ordinary_programs_work_as_on_the_computer(tmp_path: Path) -> None:
    commands = [line for line in COMMANDS.splitlines() if line]
    installed = [line for line in commands if shutil.which(line.split()[0], path=PATH)]
    found: dict[str, str] = {}
    tried = 0
    with Network(shapes.minimal(), folder=tmp_path) as net:
        for command in installed:
            status, output, errors = on_computer(command, tmp_path)
            if status:
                continue
            tried += 1
            done = net["h1"].run(["sh", "-c", command], check=False, timeout="60s")
            if done.status:
                found[command] = f"status {done.status}: {done.output} {done.stderr}"
            elif done.stderr and not errors:
                found[command] = f"message: {done.stderr}"
            elif bool(done.output) < bool(output) and command not in MAY_BE_EMPTY:
                found[command] = "no output"
            elif command.split()[0] in TABLES:
                here, there = (text.splitlines()[:1] for text in (done.output, output))
                if words("".join(here)) != words("".join(there)):
                    found[command] = f"heading: {here} instead of {there}"
    assert found == {}
    assert tried >= len(installed) // 2
