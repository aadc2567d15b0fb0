"""Whichever process dies, and whenever: the error names it, and nothing is left behind."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import needs_another_mode, needs_the_kernel_itself, other_mode
from patience import PATIENCE_S
from process_tree import children, descendants

from wanlab import Network, shapes
from wanlab.errors import MachineError, RequirementError
from wanlab.machine.agent_folder import agent_folder
from wanlab.machine.embedded import EmbeddedMachine, boot, find_image, loop
from wanlab.machine.embedded.boot import BootOptions, KernelProcess
from wanlab.machine.stale import find_stale

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
SPIN = ["python3", "-c", "print('spinning', flush=True)\nwhile True: pass"]

# Boots a network in the given working folder and keeps it busy.
VICTIM = """
import sys
from wanlab import Network, shapes
with Network(shapes.dumbbell(2, rate="100Mbps", delay="5ms"), folder=sys.argv[1]) as net:
    print("up", flush=True)
    net["h3"].start("iperf3 -s")
    net.run_for("100ms")
    net["h1"].run("iperf3 -c h3 -t 1000")
"""


def kernel_pid(net: Network) -> int:
    machine = net.machine
    assert isinstance(machine, EmbeddedMachine)
    return machine._kernel.pid


def open_descriptors() -> set[str]:
    return {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.exists()}


def memory_files() -> set[str]:
    """Return the files that machines could leave in the file system."""
    folders = (Path("/dev/shm"), Path("/tmp"))
    return {str(path) for folder in folders for path in folder.glob("*") if "vm_file" in path.name}


def leaves_no_memory_files(before: set[str]) -> bool:
    """Wait until the files are gone: another test's machine has one for a moment while it starts."""
    return until(lambda: memory_files() <= before)


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition: Callable[[], bool], real_s: float = PATIENCE_S) -> bool:
    """Wait for a condition on the computer's clock, since a dead machine has no clock."""
    give_up = time.monotonic() + real_s
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.005)
    return True


def test_a_network_that_was_closed_leaves_nothing_behind(start: Start, tmp_path: Path) -> None:
    with Network(shapes.minimal(), folder=tmp_path):
        pass  # modules that have been loaded stay loaded
    memory_before = memory_files()
    descriptors, processes = open_descriptors(), descendants(os.getpid())
    with Network(shapes.dumbbell(2, rate="10Mbps"), folder=tmp_path) as net:
        net["h1"].start("sleep 1000")
        net["h1"].start("cat", terminal=(24, 80))
        net.run_for("1s")
    # What an earlier test has left may end or be closed meanwhile.
    assert open_descriptors() <= descriptors
    assert descendants(os.getpid()) <= processes
    assert leaves_no_memory_files(memory_before)


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_killed_kernel_is_noticed_at_once(start: Start, clock: str) -> None:
    net = start(shapes.minimal(), clock=clock)
    process = net["h1"].start("echo before; sleep 1000")
    net.run_for("300ms")
    os.kill(kernel_pid(net), signal.SIGKILL)
    with pytest.raises(MachineError, match="the machine's kernel was killed by SIGKILL"):
        process.wait()
    assert process.output == "before\n"
    with pytest.raises(MachineError):
        net.run_for("1s")


def test_a_broker_that_is_killed_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs see an error of the disk, and whoever started the network learns why."""
    others = brokers()
    with Network(shapes.minimal(), folder=tmp_path) as net:
        net["h1"].run("echo kept > before")
        (broker,) = brokers() - others
        os.kill(broker, signal.SIGKILL)
        output = net["h1"].run("(echo lost > after) 2>&1; cat before", check=False).output
    assert "Input/output error" in output
    assert output.endswith("kept\n")
    assert "files of the working folder for the machine was killed" in capsys.readouterr().err


def brokers() -> set[int]:
    pids = (os.getpid(), *descendants(os.getpid()))
    return {
        pid
        for parent in pids
        for pid, words in children(parent).items()
        if "--hostfs-broker" in words
    }


def test_an_agent_that_ends_takes_the_kernel_with_it(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody in a machine can kill the agent, so this one has an error."""
    folder = tmp_path / "agent"
    shutil.copytree(agent_folder(), folder)
    program = folder / "__main__.py"
    fail = "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: os._exit(1))\n\n\n"
    program.write_text(program.read_text().replace("def main()", f"{fail}def main()", 1))
    monkeypatch.setattr(boot, "agent_folder", lambda: folder)
    net = start(shapes.minimal())
    with pytest.raises(MachineError, match="panicked: Attempted to kill init"):
        net.root.run("kill -USR1 1; sleep 1")


def test_a_machine_that_powers_off_is_reported(start: Start) -> None:
    net = start(shapes.minimal())
    with pytest.raises(MachineError, match="the machine powered off"):
        net.root.run(["python3", "-c", POWER_OFF])


POWER_OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)"


def test_a_process_that_keeps_time_from_passing_is_named_and_can_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "STALL_REAL_S", 1.0)
    monkeypatch.setattr("wanlab.machine.embedded.machine.BUSY_SHARE", 0.0)
    messages: list[str] = []
    with Network(shapes.minimal(), folder=tmp_path) as net:
        machine = net.machine
        assert isinstance(machine, EmbeddedMachine)

        def stalled(message: str) -> None:
            messages.append(message)
            machine.end_stalled_process()

        machine._on_stall = stalled
        other = net["h2"].start("sleep 1; echo fine")
        process = net["h1"].start(SPIN)
        assert process.wait() == -signal.SIGKILL
        assert len(messages) == 1
        assert f"process {process.pid} (python3) computes without" in messages[0]
        assert other.wait() == 0


def test_a_network_whose_time_cannot_pass_can_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "STALL_REAL_S", 1.0)

    class EnoughError(Exception):
        pass

    def stalled(message: str) -> None:
        raise EnoughError

    others = descendants(os.getpid())  # a browser, for example
    begun = time.monotonic()
    with pytest.raises(EnoughError), Network(shapes.minimal(), folder=tmp_path) as net:
        machine = net.machine
        assert isinstance(machine, EmbeddedMachine)
        machine._on_stall = stalled
        net["h1"].start(SPIN).wait()
    assert time.monotonic() - begun < PATIENCE_S
    assert not any(map(is_running, descendants(os.getpid()) - others))


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM, signal.SIGKILL],
)
def test_a_program_that_is_killed_at_any_moment_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Kill it ten times at random moments; bench/kill.py does it a hundred times."""
    moments = random.Random(number)
    before = memory_files()
    for _ in range(10):
        victim = subprocess.Popen(
            [sys.executable, "-c", VICTIM, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert victim.stdout is not None
        if moments.random() < 0.7:
            victim.stdout.readline()  # wait until it is up; otherwise it is killed while it boots
        time.sleep(moments.uniform(0, 0.5))
        family = [victim.pid, *descendants(victim.pid)]
        victim.send_signal(number)
        victim.wait(PATIENCE_S)
        victim.stdout.close()
        assert until(lambda family=family: not any(map(is_running, family)))  # type: ignore[misc]
    assert leaves_no_memory_files(before)


COMPUTING_VICTIM = """
import sys
from wanlab import Network, shapes
with Network(shapes.minimal(), folder=sys.argv[1], traps=sys.argv[2]) as net:
    loop = net["h1"].start("echo on; while :; do :; done")
    net.run_until_condition(lambda: loop.output == "on\\n", 10**9)
    print("up", flush=True)
    net.run_for("1000s")
"""


@pytest.mark.parametrize("mode", ["ptrace", pytest.param(other_mode(), marks=needs_another_mode)])
def test_a_program_that_is_killed_while_its_machine_computes_leaves_nothing_behind(
    tmp_path: Path, mode: str
) -> None:
    """The machine's kernel has no occasion to see that its channel has ended."""
    victim = subprocess.Popen(
        [sys.executable, "-c", COMPUTING_VICTIM, str(tmp_path), mode],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"up\n"
    time.sleep(0.5)  # the loop runs
    family = [victim.pid, *descendants(victim.pid)]
    victim.kill()
    victim.wait(PATIENCE_S)
    victim.stdout.close()
    assert until(lambda: not any(map(is_running, family)))


FORKING_VICTIM = """
import os, sys
from wanlab import Network, shapes
with Network(shapes.minimal(), folder=sys.argv[1]) as net:
    if os.fork() == 0:
        os.read(os.pipe()[0], 1)
    print("up", flush=True)
    net.run_for("1000000s")
"""


def test_a_kernel_that_a_forked_child_keeps_alive_is_found_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that the killed program had forked holds the program's ends of the kernel's sockets."""
    image = find_image().folder
    for name, value in (
        ("XDG_CACHE_HOME", str(tmp_path)),
        ("XDG_RUNTIME_DIR", ""),
        ("WANLAB_KERNEL", str(image)),
    ):
        monkeypatch.setenv(name, value)
    victim = subprocess.Popen(
        [sys.executable, "-c", FORKING_VICTIM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"up\n"
    assert find_stale() == []  # the program still runs
    family = descendants(victim.pid)
    victim.kill()
    victim.wait()
    victim.stdout.close()
    (left,) = find_stale()
    assert "which still runs" in left.what
    left.remove()
    assert find_stale() == []
    assert until(lambda: sum(map(is_running, family)) == 1)  # the forked child is not ours to end
    (forked,) = filter(is_running, family)
    os.kill(forked, signal.SIGKILL)


def test_a_working_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(RequirementError, match="No such file or directory"),
        Network(shapes.minimal(), folder=tmp_path / "nowhere"),
    ):
        pass


def test_a_working_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RequirementError, match="is not a folder"),
        Network(shapes.minimal(), folder=tmp_path / "file"),
    ):
        pass


def test_more_memory_than_the_computer_has_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(RequirementError, match="needs at least"),
        Network(shapes.minimal(), folder=tmp_path, memory="1000000GiB"),
    ):
        pass


@needs_the_kernel_itself
def test_a_kernel_cut_short_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wanlab.machine.embedded import find_image

    folder = find_image().folder
    broken = tmp_path / "kernel"
    broken.mkdir()
    for path in folder.iterdir():
        (broken / path.name).write_bytes(
            path.read_bytes()[: 5_000_000 if path.name == "linux" else None]
        )
    monkeypatch.setenv("WANLAB_KERNEL", str(broken))
    with pytest.raises(RequirementError, match="it has 5000000 of"), Network(shapes.minimal()):
        pass


# -- the real clock ---------------------------------------------------------------------------------


def test_on_the_real_clock_time_passes_by_itself(start: Start) -> None:
    net = start(shapes.minimal(delay="10ms"), clock="real")
    output = net["h1"].run("ping -c 3 -i 0.2 10.0.0.2").output
    times = [
        float(line.split("time=")[1].split()[0]) for line in output.splitlines() if "time=" in line
    ]
    assert len(times) == 3
    assert all(time_ms > 39.9 for time_ms in times[1:])
    begun = time.monotonic()
    net.run_for("300ms")
    assert time.monotonic() - begun >= 0.3
    assert net["h1"].run("sleep 0.2").seconds >= 0.2


@needs_the_kernel_itself
def test_a_suspended_kernel_is_named_and_can_continue(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = start(shapes.single(2))
    machine, pid = net.machine, kernel_pid(net)
    assert isinstance(machine, EmbeddedMachine)
    messages: list[str] = []

    def let_continue(message: str) -> None:
        messages.append(message)
        monkeypatch.setattr(loop, "STALL_REAL_S", 10.0)
        os.kill(pid, signal.SIGCONT)

    monkeypatch.setattr(machine, "_on_stall", let_continue)
    monkeypatch.setattr(loop, "STALL_REAL_S", 0.05)
    monkeypatch.setattr(loop, "RECEIVE_REAL_S", 0.1)
    os.kill(pid, signal.SIGSTOP)
    assert net["h1"].run("echo on").output == "on\n"
    assert f"process {pid}, has been suspended" in messages[0]


def test_a_signal_while_the_kernel_starts_leaves_no_suspended_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suspended kernel does not end when its sockets are closed; a running one does."""
    started: list[int] = []

    class SuspendedKernel(KernelProcess):
        def __init__(self, options: BootOptions) -> None:
            super().__init__(options)
            started.append(self.pid)
            os.kill(self.pid, signal.SIGSTOP)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("wanlab.machine.embedded.machine.KernelProcess", SuspendedKernel)
    with pytest.raises(KeyboardInterrupt):
        EmbeddedMachine(tmp_path)
    assert not any(map(is_running, started))
    assert len(started) == 1
