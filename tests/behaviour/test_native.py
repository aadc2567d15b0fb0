"""Test the native machine: the computer's kernel with its own network, its limits and its end."""

from __future__ import annotations

import os
import platform
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import native_findings, why_no_native
from patience import PATIENCE_S

from wanlab import Host, Network, Port, Topology, link, shapes
from wanlab.errors import CommandError, MachineError, RequirementError
from wanlab.machine.native import NativeMachine
from wanlab.machine.stale import find_stale

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(bool(why_no_native()), reason=why_no_native() or "it is there"),
]

Start = Callable[..., Network]


def test_it_has_the_computers_kernel_and_its_own_network(start: Start) -> None:
    net = start(shapes.minimal(), machine="native")
    assert net.root.run("uname -r").output.strip() == platform.release()
    assert net.root.run("hostname").output == "wanlab\n"
    assert net.root.run("ls /sys/class/net").output.split() == ["lo", "s1", "s1-eth1", "s1-eth2"]
    assert net["h1"].run("ls /sys/class/net").output.split() == ["h1-eth0", "lo"]
    assert net.root.run("id -u; ls /run; ls /run/netns").output.split() == [
        *("0", "netns", "wanlab", "h1", "h2")
    ]
    assert net.machine.describe()["seed"] is None


def test_processes_of_the_computer_are_not_visible_in_it(start: Start) -> None:
    net = start(shapes.minimal(), machine="native")
    processes = net["h1"].run("ls -d /proc/[0-9]*").output.split()
    assert "/proc/1" in processes
    assert len(processes) <= 3  # the agent, ls, and its shell


def test_programs_obey_ctrl_c_though_wanlab_runs_in_the_background() -> None:
    """A script's shell makes background programs (`&`) ignore Ctrl-C, which children inherit."""
    code = (
        "from wanlab import Network, shapes\n"
        "with Network(shapes.single(2), machine='native') as net:\n"
        "    print(int(net['h1'].start('sleep 1000').stop()))\n"
    )
    ignoring = ["sh", "-c", 'trap "" INT QUIT; exec "$@"', "sh"]
    done = subprocess.run(
        [*ignoring, sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{-signal.SIGINT}\n"


def test_settings_of_the_whole_computer_cannot_be_changed_in_it(start: Start) -> None:
    net = start(shapes.minimal(), machine="native")
    with pytest.raises(CommandError):
        net.root.run("echo 1 > /proc/sys/vm/swappiness")
    net.root.run("echo 1 > /proc/sys/net/ipv4/ip_forward")


def test_the_computer_can_start_a_process_in_a_node(start: Start, tmp_path: Path) -> None:
    net = start(shapes.minimal(), machine="native")
    wrapped = net["h1"].wrap(["sh", "-c", "pwd; hostname; ls /sys/class/net"], folder=str(tmp_path))
    done = subprocess.run(wrapped, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path), "wanlab", "h1-eth0", "lo"]


def test_everything_that_the_kernel_lacks_is_reported_at_once(start: Start) -> None:
    """Kernels differ in their queues, but only ours has port speeds, and none has this algorithm."""
    slow = Port("h1", speed_bps=100_000_000)
    topology = Topology(nodes=(Host("h1"), Host("h2")), links=(link(slow, "h2", delay="5ms"),))
    with pytest.raises(RequirementError) as caught:
        start(
            topology,
            machine="native",
            sysctls={
                "net.ipv4.tcp_congestion_control": "nonsense",
                "net.ipv4.no_such": "1",
            },
        )
    message = str(caught.value)
    assert "speed of h1-eth0: 100 Mbit/s" in message
    assert "tcp_congestion_control = nonsense: the kernel has no such algorithm" in message
    assert "net.ipv4.no_such = 1: No such file or directory" in message
    assert ("netem" in message) is not native_findings()["queue netem"].is_there
    assert "--machine embedded" in message


def test_options_that_the_native_machine_lacks_are_refused() -> None:
    with pytest.raises(RequirementError) as caught:
        Network(
            Topology(), machine="native", clock="virtual", seed=7, memory="1GiB", line_rate="1Gbps"
        )
    for word in ("clock virtual", "seed 7", "memory 1GiB", "line_rate", "--machine embedded"):
        assert word in caught.value.what + caught.value.hint


def test_a_program_inside_makes_its_own_networks(start: Start, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from wanlab import Network, shapes\n"
        "with Network(shapes.single(2)) as net:\n"
        "    print(net.machine_kind, net.clock, net['h1'].run('ping -c 1 h2').output.count('ttl'))\n"
    )
    net = start(Topology(), machine="native")
    done = net.root.run(["/run/wanlab/bin/wanlab-python", "program.py"])
    assert done.output == "here real 1\n"
    assert net.root.run("ls /run/netns; ls /sys/class/net").output == "lo\n"


# -- its end ------------------------------------------------------------------------------------------


def inside(net: Network) -> list[int]:
    """Return the process ids of everything in a native machine, as seen from outside."""
    machine = net.machine
    assert isinstance(machine, NativeMachine)
    return descendants(machine._process.pid)


def descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in children for each in (int(child), *descendants(int(child)))]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until_gone(pids: list[int], but: int = 0) -> list[int]:
    """Wait until at most `but` of the processes run; return those that still run."""
    give_up = time.monotonic() + PATIENCE_S
    while len(left := [pid for pid in pids if is_running(pid)]) > but:
        if time.monotonic() > give_up:
            break
        time.sleep(0.005)
    return left


def test_all_processes_end_with_the_machine_even_hidden_ones(tmp_path: Path) -> None:
    with Network(shapes.minimal(), machine="native", folder=tmp_path) as net:
        net["h1"].run("setsid sleep 1000 < /dev/null > /dev/null 2>&1 & disown")
        net["h2"].start("trap '' TERM INT HUP; sleep 1000")
        pids = inside(net)
    assert len(pids) >= 3
    assert until_gone(pids) == []


@pytest.mark.parametrize("who", ["starter", "agent"])
def test_a_killed_machine_is_noticed_at_once(start: Start, who: str) -> None:
    net = start(shapes.minimal(), machine="native")
    process = net["h1"].start("echo before; sleep 1000")
    net.run_for("200ms")
    pids = inside(net)
    assert isinstance(net.machine, NativeMachine)
    os.kill(net.machine._process.pid if who == "starter" else pids[0], signal.SIGKILL)
    with pytest.raises(MachineError, match="agent ended"):
        process.wait()
    assert process.output == "before\n"
    assert until_gone(pids) == []


def test_powering_off_ends_the_machine_and_not_the_computer(start: Start) -> None:
    net = start(shapes.minimal(), machine="native")
    with pytest.raises(MachineError, match="agent ended"):
        net.root.run(
            ["python3", "-c", "import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)"], check=False
        )


VICTIM = """
import os, sys
from wanlab import Network, shapes
with Network(shapes.dumbbell(2, rate="100Mbps"), machine="native", folder=sys.argv[1]) as net:
    if sys.argv[2] == "fork" and os.fork() == 0:
        os.read(os.pipe()[0], 1)
    print("up", flush=True)
    net["h3"].start("iperf3 -s")
    net.run_for("100ms")
    net["h1"].run("iperf3 -c h3 -t 1000")
"""


def start_victim(folder: Path, how: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(folder), how],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_CACHE_HOME": str(folder),
            "XDG_RUNTIME_DIR": "",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_is_killed_at_any_moment_leaves_only_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    moments = random.Random(number)
    for _ in range(5):
        victim = start_victim(tmp_path)
        assert victim.stdout is not None
        if moments.random() < 0.6:
            victim.stdout.readline()
        time.sleep(moments.uniform(0, 0.3))
        family = [victim.pid, *descendants(victim.pid)]
        victim.send_signal(number)
        victim.wait(PATIENCE_S)
        victim.stdout.close()
        assert until_gone(family) == []
        for item in find_stale():
            assert "only the note is left" in item.what
            item.remove()
        assert [path.name for path in (tmp_path / "wanlab" / "runs").glob("*")] == []


def test_a_process_forked_from_the_program_does_not_keep_the_machine_alive(tmp_path: Path) -> None:
    """The forked process holds the channel open, but the machine watches the program itself."""
    victim = start_victim(tmp_path, "fork")
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"up\n"
    family = descendants(victim.pid)
    victim.kill()
    victim.wait()
    victim.stdout.close()
    (forked,) = until_gone(family, but=1)
    os.kill(forked, signal.SIGKILL)
    assert until_gone(family) == []
