"""Confined programs reach the nodes' networks and nothing else, and nobody takes over the agent."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Host, Network, link, shapes
from wanlab.errors import CommandError

pytestmark = pytest.mark.machine

HIJACKER = Path(__file__).with_name("hijacker.c")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    # Sandboxes need ptrace mode: in the others, programs could take over the machine's kernel.
    with Network(shapes.minimal(), folder=tmp_path, traps="ptrace") as network:
        yield network


def confined(net: Network, script: str) -> str:
    return run(net, script, confines=True)


def run(net: Network, script: str, *, confines: bool = False) -> str:
    if confines:
        net.confine_programs()
    return net.root.run(["sh", "-c", script], check=False).output


# -- what still works --------------------------------------------------------------------------------

NETWORK_COMMANDS = """\
tc qdisc replace dev s1-eth1 root tbf rate 1mbit burst 5000 limit 50000 && echo tc
ip link add a0 type veth peer name a1 && ip link set a1 netns h1 && echo links
ip netns exec h1 ip -br link show a1 | cut -c1-2
ip -n h1 route | grep -c 10.0.0.0
wanlab-node h2 sysctl -q -w net.ipv4.ip_forward=1 && echo sysctl
echo 1400 > /sys/class/net/s1-eth1/mtu && echo mtu
(wanlab-node h2 iperf3 -s -1 > /dev/null 2>&1 &)
wanlab-node h1 tcpdump -c 1 -i h1-eth0 icmp 2>/dev/null | grep -c ICMP &
sleep 1
wanlab-node h1 ping -c 2 h2 | grep -c '0% packet loss'
wanlab-node h1 iperf3 -c 10.0.0.2 -t 1 | grep -c receiver
wait
python3 -c 'import threading; thread = threading.Thread(target=print, args=["thread"]); thread.start()'
"""


def test_commands_that_configure_and_use_networks_work_in_a_sandbox(net: Network) -> None:
    assert confined(net, NETWORK_COMMANDS).split() == [
        "tc",
        "links",
        "a1",
        "1",
        "sysctl",
        "mtu",
        "1",
        "1",
        "1",
        "thread",
    ]
    in_node = "ls /sys/class/net; echo 1400 > /sys/class/net/h1-eth0/mtu; ip link show h1-eth0"
    output = net["h1"].run(["sh", "-c", in_node]).output
    assert output.split()[:4] == ["a1", "bonding_masters", "h1-eth0", "lo"]
    assert "mtu 1400" in output


def test_a_script_in_a_sandbox_attaches_to_the_network(net: Network, tmp_path: Path) -> None:
    program = """
from wanlab import Network
with Network.attach() as net:
    print(net["h1"].run("ping -c 1 h2").output.splitlines()[-2])
"""
    (tmp_path / "program.py").write_text(program)
    assert "1 received, 0% packet loss" in confined(net, "wanlab-python program.py")


# -- what does not -----------------------------------------------------------------------------------

SHELL_ATTACKS = r"""
says() { "$@" > /dev/null 2>&1 && echo "works: $*"; }
for file in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/kernel/pid_max \
  /proc/sys/kernel/sched_rt_runtime_us /sys/kernel/uevent_helper /proc/exitcode /proc/cmdline \
  /sys/module/tcp_cubic/parameters/beta /sys/kernel/mm/transparent_hugepage/enabled; do
  [ -e $file ] && (cat $file > old; cat old > $file) 2> /dev/null && echo "works: write $file"
done
for kind in tracefs debugfs cgroup2 securityfs bpf; do
  mkdir -p /tmp/$kind; mount -t $kind $kind /tmp/$kind; ls -A /tmp/$kind
done 2> /dev/null
says mount --bind /tmp /run/netns
says mount -o remount,rw /proc/sys
says touch /run/netns/evil
says rm /run/netns/h1
says chrt --fifo 1 true
says chrt --deadline --sched-runtime 100000 --sched-period 1000000 0 true
says renice -n -5 $$
says unshare --user true
says unshare --net true
says unshare --uts true
says unshare --ipc true
says nsenter --target 1 --uts true
says nsenter --target 1 --pid true
says hostname evil
says date -s 2001-01-01
says dmesg
says mknod /tmp/channel c 10 125
says sh -c 'echo -1000 > /proc/self/oom_score_adj'
says prlimit --nofile=1000000 true
says sysctl -w kernel.core_pattern='|/tmp/x'
says sh -c 'echo x > /run/wanlab/bin/iperf3'
says chroot /proc/1/root sh -c 'cat /proc/1/cmdline | grep agent'
[ "$(readlink /proc/1/root)" = / ] || echo "works: another root"
ls /proc | grep -E '^[0-9]+$' | while read pid; do
  grep -q '^CapEff.*1ffffffffff' /proc/$pid/status && echo "works: see a privileged process"
done 2> /dev/null
true
"""
CALL_ATTACKS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    "ptrace": (101, 16, 1), "process_vm_readv": (310, 1), "process_vm_writev": (311, 1),
    "kcmp": (312, 1, 1, 1), "pidfd_getfd": (438, 0, 0, 0), "bpf": (321, 0), "keyctl": (250, 0, -3),
    "add_key": (248, 0), "request_key": (249, 0), "userfaultfd": (323, 1), "fsopen": (430, 0),
    "io_uring_setup": (425, 1, 0), "perf_event_open": (298, 0), "fanotify_init": (300, 0),
    "open_by_handle_at": (304, 0), "open_tree": (428, 0), "mount_setattr": (442, 0),
    "clone with a user namespace": (56, 0x10000011, 0), "setns to any": (308, 0, 0x20000000),
    "unshare of PIDs": (272, 0x20000000), "x32": (0x40000000 + 39,),
}
for name, (number, *arguments) in calls.items():
    if libc.syscall(number, *map(ctypes.c_long, arguments)) == 0 or ctypes.get_errno() != 1:
        print("works:", name, ctypes.get_errno())
print("tried")
"""


def test_a_confined_program_has_no_privilege_beyond_networks(net: Network, tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(CALL_ATTACKS)
    assert confined(net, SHELL_ATTACKS + "python3 calls.py") == "tried\n"


LEFT = """\
ipcmk -M 1000 -S 1 -Q > /dev/null
for folder in /tmp /dev/shm /etc /usr/local/lib /usr/bin; do echo left > $folder/left; done
echo 10.0.0.1 h2 >> /etc/hosts
echo /tmp/left > /etc/ld.so.preload
python3 -c '
import os, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
os.execvp("sleep", ["sleep", "7777"])
'
ulimit -n 50
"""
WHAT_IS_LEFT = """\
ls /tmp/left /dev/shm/left /etc/left /usr/local/lib/left /usr/bin/left /etc/ld.so.preload 2>/dev/null
ipcs | grep 0x | wc -l
pgrep -f 7777 | wc -l
ulimit -n
getent hosts h2
cat /proc/self/status | grep -E 'Cap(Eff|Bnd)|Seccomp:'
hostname
"""


def test_nothing_of_a_sandbox_but_the_network_s_state_is_left(net: Network) -> None:
    before = run(net, WHAT_IS_LEFT)
    confined(net, LEFT)
    net.end_confinement()
    assert run(net, WHAT_IS_LEFT) == before


def test_nodes_are_added_and_removed_while_programs_are_confined(net: Network) -> None:
    net.confine_programs()
    net.add(Host("h9"), link("h9", "s1"))
    assert "0% packet loss" in net["h9"].run(["ping", "-c", "1", "h1"]).output
    assert "h9" in net["h1"].run(["getent", "hosts", "h9"]).output
    net.remove_node("h2")
    assert set(net.root.run("ls /run/netns").output.split()) == {"h1", "h9"}


def test_files_of_the_machine_cannot_be_changed_while_programs_are_confined(net: Network) -> None:
    shell = net.root.start(["sh"], stdin=True)  # it was started before, so it is outside
    net.confine_programs()
    shell.write("echo x > /usr/bin/iperf3; echo x > /etc/ld.so.preload; exit\n")
    shell.wait()
    assert "Read-only file system" in shell.stderr
    net.end_confinement()
    assert net.root.run(["iperf3", "--version"]).output.startswith("iperf")


@pytest.mark.parametrize("folders", [["a"] * 1500, ["b" * 200] * 15])
def test_changed_programs_are_found_below_any_tree_of_folders(
    net: Network, folders: list[str]
) -> None:
    programs = net.program_files(["ping"])
    path = "/".join(folders)
    confined(net, f"mkdir -p /usr/{path} /tmp/{path}; cp /bin/true /tmp/ping; rm /usr/bin/ping")
    assert set(net.changed_programs(programs)) >= {"/tmp/ping", "/usr/bin/ping"}
    net.end_confinement()


def test_a_program_that_stops_all_others_does_not_stop_the_agent(net: Network) -> None:
    program = """
import os
for _ in range(5000):
    try:
        os.kill(-1, 19)
    except OSError:
        pass
"""
    net.confine_programs()
    net.root.start(["python3", "-c", program])
    net.run_for("100ms")
    with contextlib.suppress(CommandError):  # it may not start, which takes its time
        net.root.start(["true"])
    net.end_confinement()
    assert net.root.run(["echo", "still here"]).output == "still here\n"


# -- the agent itself --------------------------------------------------------------------------------

ATTACK_AGENT = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def refused(result):
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "works"
print(refused(libc.ptrace(16, 1, 0, 0)), refused(libc.ptrace(0x4206, 1, 0, 0)))
pidfd = os.pidfd_open(1)
print(*{refused(libc.syscall(438, pidfd, number, 0)) for number in range(20)})
for path, flags in (("/dev/channel", os.O_RDWR), ("/proc/1/mem", os.O_RDWR)):
    try:
        os.open(path, flags)
        print(path, "works")
    except OSError as error:
        print(path, errno.errorcode[error.errno])
for number in os.listdir("/proc/1/fd"):
    if os.readlink(f"/proc/1/fd/{number}").endswith("/channel"):
        try:
            os.open(f"/proc/1/fd/{number}", os.O_RDWR)
            print("works")
        except OSError as error:
            print(errno.errorcode[error.errno])
os.mknod("/tmp/channel", 0o20600, os.stat("/dev/channel").st_rdev)
try:
    os.open("/tmp/channel", os.O_WRONLY)
    print("works")
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def test_root_in_a_node_can_neither_trace_the_agent_nor_open_its_channel(net: Network) -> None:
    output = net["h1"].run(["python3", "-c", ATTACK_AGENT]).output.splitlines()
    assert output == [
        "EPERM EPERM",
        "EPERM",
        "/dev/channel EBUSY",
        "/proc/1/mem EACCES",
        "EBUSY",
        "EBUSY",
    ]


@needs_compiler
@pytest.mark.parametrize("confines", [False, True], ids=["outside", "in a sandbox"])
def test_a_fork_of_the_agent_cannot_be_hijacked(
    net: Network, tmp_path: Path, confines: bool
) -> None:
    subprocess.run(
        ["cc", "-O1", "-w", "-static", "-o", tmp_path / "hijacker", HIJACKER], check=True
    )
    output = run(net, "./hijacker 'id > /etc/hijacked'; cat /etc/hijacked", confines=confines)
    works = [line for line in output.splitlines() if line.startswith("works")]
    assert works == ([] if confines else ["works: be real-time"])
    assert "uid" not in output
