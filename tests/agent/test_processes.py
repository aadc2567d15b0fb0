"""Test the agent's processes with this computer's programs, pipes and terminals, without nodes."""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from patience import PATIENCE_S

from wanlab.agent.messages import Frame, FrameReader, Kind
from wanlab.agent.namespaces import Namespaces
from wanlab.agent.processes import Processes

ENVIRONMENT = {"PATH": os.defpath, "LANG": "C"}


class NoNamespaces:
    @contextmanager
    def inside(self, node: str) -> Iterator[None]:
        yield


class Bench:
    """Runs processes in an event loop like the agent's."""

    def __init__(self) -> None:
        self.poll = select.epoll()
        self.frames: list[Frame] = []
        self.rounds = 0
        self._reader = FrameReader()
        self.processes = Processes(cast(Namespaces, NoNamespaces()), self.poll, self._receive)
        self._child_ended, child_ends = os.pipe()
        os.set_blocking(child_ends, False)
        signal.set_wakeup_fd(child_ends, warn_on_full_buffer=False)
        self._before = signal.signal(signal.SIGCHLD, lambda *_: None)
        self._pipe = (self._child_ended, child_ends)
        self.poll.register(self._child_ended, select.EPOLLIN)
        self._numbers = 0

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._before)
        for descriptor in self._pipe:
            os.close(descriptor)
        self.poll.close()

    def _receive(self, data: bytes) -> None:
        self.frames += self._reader.feed(data)

    def start(self, *arguments: str, **options: Any) -> int:
        self._numbers += 1
        words: dict[str, Any] = {
            "node": "",
            "folder": "/",
            "environment": ENVIRONMENT,
            "stdin": False,
            "terminal": None,
        }
        self.processes.start(self._numbers, arguments=list(arguments), **{**words, **options})
        return self._numbers

    def turn(self) -> bool:
        """Run one round of the loop; return False if nothing has happened for a long time."""
        ready = self.poll.poll(PATIENCE_S)
        self.rounds += 1
        for descriptor, events in ready:
            if descriptor == self._child_ended:
                os.read(descriptor, 4096)
                self.processes.reap()
            else:
                self.processes.ready(descriptor, events)
        return bool(ready)

    def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert self.turn(), f"nothing more happens; received so far: {self.frames[-5:]}"

    def bodies(self, number: int, kind: Kind) -> list[bytes]:
        return [frame.body for frame in self.frames if frame[:2] == (kind, number)]

    def output(self, number: int) -> bytes:
        return b"".join(self.bodies(number, Kind.OUTPUT))

    def stderr(self, number: int) -> bytes:
        return b"".join(self.bodies(number, Kind.STDERR))

    def has_ended(self, number: int) -> bool:
        return self.bodies(number, Kind.ENDED) != []

    def status(self, number: int) -> int:
        """Wait for the process to end; return its exit status."""
        self.until(lambda: self.has_ended(number))
        (frame,) = [frame for frame in self.frames if frame[:2] == (Kind.ENDED, number)]
        return int(frame.json()["status"])


def open_descriptors() -> set[int]:
    """Return this process's open descriptors, without the one that listing them opens."""
    found = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    return {fd for fd in found if Path(f"/proc/self/fd/{fd}").exists()}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.chdir("/")
    made = Bench()
    yield made
    made.close()


def test_output_arrives_byte_for_byte(bench: Bench) -> None:
    everything = bytes(range(256)) * 4
    number = bench.start("cat", stdin=True)
    bench.processes.feed(number, everything)
    bench.processes.end_input(number)
    assert bench.status(number) == 0
    assert bench.output(number) == everything


def test_stdout_and_stderr_are_kept_apart(bench: Bench) -> None:
    number = bench.start("sh", "-c", "echo out; echo err >&2")
    assert bench.status(number) == 0
    assert (bench.output(number), bench.stderr(number)) == (b"out\n", b"err\n")


def test_stderr_can_be_merged_into_stdout(bench: Bench) -> None:
    script = "for n in 1 2 3; do echo o$n; echo e$n >&2; done"
    number = bench.start("sh", "-c", script, merge_stderr=True)
    assert bench.status(number) == 0
    assert bench.output(number) == b"o1\ne1\no2\ne2\no3\ne3\n"
    assert bench.stderr(number) == b""


@pytest.mark.parametrize("status", [0, 1, 127, 255])
def test_an_exit_status_is_reported(bench: Bench, status: int) -> None:
    assert bench.status(bench.start("sh", "-c", f"exit {status}")) == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGPIPE])
def test_the_status_of_a_process_ended_by_a_signal_is_its_negative_number(
    bench: Bench, number: int
) -> None:
    process = bench.start("sleep", "100")
    assert bench.processes.signal(process, number) is True
    assert bench.status(process) == -number


def test_a_signal_reaches_the_children_of_a_process(bench: Bench) -> None:
    process = bench.start("sh", "-c", "sleep 100 & echo ready; wait")
    bench.until(lambda: bench.output(process) == b"ready\n")
    bench.processes.signal(process, signal.SIGTERM)
    assert bench.status(process) == -signal.SIGTERM
    # The streams close when the last process has ended.
    bench.until(lambda: bench.processes._by_number == {})


def test_a_process_that_has_ended_cannot_be_signalled(bench: Bench) -> None:
    process = bench.start("true")
    assert bench.status(process) == 0
    assert bench.processes.signal(process, signal.SIGTERM) is False
    assert bench.processes.signal(99, signal.SIGTERM) is False


def test_all_output_of_a_process_arrives_before_its_end(bench: Bench) -> None:
    number = bench.start("head", "-c", "300000", "/dev/zero")
    assert bench.status(number) == 0
    kinds = [frame.kind for frame in bench.frames if frame.number == number]
    assert kinds[-1] is Kind.ENDED
    assert kinds.count(Kind.ENDED) == 1
    assert bench.output(number) == bytes(300000)


def test_output_of_a_child_still_arrives_after_its_parent_has_ended(bench: Bench) -> None:
    number = bench.start("sh", "-c", "(read line; echo late) <&0 & exit 0", stdin=True)
    assert bench.status(number) == 0
    bench.until(lambda: bench.processes._by_number == {})
    assert bench.output(number) == b"late\n"


def test_a_process_that_never_reads_delays_no_other(bench: Bench) -> None:
    size = 10_000_000
    deaf = bench.start("sleep", "100", stdin=True)
    eager = bench.start("head", "-c", str(size), "/dev/zero")
    bench.processes.feed(deaf, bytes(size))
    assert bench.status(eager) == 0
    assert len(bench.output(eager)) == size
    bench.processes.signal(deaf, signal.SIGKILL)
    assert bench.status(deaf) == -signal.SIGKILL


def test_input_larger_than_a_pipe_arrives_whole(bench: Bench) -> None:
    number = bench.start("wc", "-c", stdin=True)
    for _ in range(10):
        bench.processes.feed(number, bytes(100_000))
    bench.processes.end_input(number)
    assert bench.status(number) == 0
    assert bench.output(number) == b"1000000\n"


def test_input_for_a_process_that_closed_its_stdin_is_dropped(bench: Bench) -> None:
    number = bench.start("sh", "-c", "exec 0<&-; echo closed; sleep 100", stdin=True)
    bench.until(lambda: bench.output(number) == b"closed\n")
    bench.processes.feed(number, b"too late")
    bench.processes.feed(number, b"later still")
    bench.processes.end_input(number)
    bench.processes.signal(number, signal.SIGTERM)
    assert bench.status(number) == -signal.SIGTERM


def test_a_closed_stdin_does_not_keep_the_loop_busy(bench: Bench) -> None:
    script = "head -c 1000000 >/dev/null; exec 0<&-; echo closed; exec sleep 0.2"
    number = bench.start("bash", "-c", script, stdin=True)
    bench.processes.feed(number, bytes(1_000_000))
    bench.until(lambda: bench.output(number) == b"closed\n")
    before = bench.rounds
    assert bench.status(number) == 0
    assert bench.rounds - before < 20


def test_without_a_pipe_there_is_nothing_to_read(bench: Bench) -> None:
    number = bench.start("cat")
    assert bench.status(number) == 0
    assert bench.output(number) == b""


def test_a_process_inherits_only_its_three_streams(bench: Bench) -> None:
    of_our_parent = {fd for fd in open_descriptors() if os.get_inheritable(fd)}
    for stdin in (False, True):
        number = bench.start("ls", "/proc/self/fd", stdin=stdin)
        assert bench.status(number) == 0
        inherited = {int(name) for name in bench.output(number).split()}
        # The fourth is ls's own, for reading the folder.
        assert len(inherited - of_our_parent | {0, 1, 2}) == 4


def test_a_process_gets_the_requested_environment_and_folder(bench: Bench) -> None:
    number = bench.start("env", environment={"PATH": os.defpath, "A": "b=c"})
    here = bench.start("pwd", folder="/usr")
    assert (bench.status(number), bench.status(here)) == (0, 0)
    assert sorted(bench.output(number).split()) == [b"A=b=c", f"PATH={os.defpath}".encode()]
    assert bench.output(here) == b"/usr\n"


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["no-such-program"], {}),
        (["/no/such/program"], {}),
        (["true"], {"folder": "/no/such/folder"}),
        (["true"], {"environment": {"PATH": "/nowhere"}}),
    ],
)
def test_a_process_that_cannot_be_started_leaves_nothing_open(
    bench: Bench, arguments: list[str], options: dict[str, Any]
) -> None:
    before = open_descriptors()
    for terminal in (None, [24, 80]):
        with pytest.raises(FileNotFoundError):
            bench.start(*arguments, terminal=terminal, **options)
    assert open_descriptors() <= before  # garbage of earlier tests may be closed


def test_ended_processes_leave_nothing_open(bench: Bench) -> None:
    before = open_descriptors()
    for options in ({}, {"stdin": True}, {"terminal": [24, 80]}):
        assert bench.status(bench.start("true", **options)) == 0
    bench.until(lambda: bench.processes._by_number == {})
    assert open_descriptors() <= before  # garbage of earlier tests may be closed
    assert bench.processes._polled == {}
    assert bench.processes._by_pid == {}


# -- terminals --------------------------------------------------------------------------------------


def test_a_terminal_has_the_requested_size_and_can_be_resized(bench: Bench) -> None:
    script = "stty size; trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.01; done"
    number = bench.start("bash", "-c", script, terminal=[25, 81])
    bench.until(lambda: b"ready" in bench.output(number))
    bench.processes.resize(number, 50, 132)
    assert bench.status(number) == 3
    assert bench.output(number) == b"25 81\r\nready\r\n50 132\r\n"


def test_ctrl_c_at_a_terminal_interrupts(bench: Bench) -> None:
    number = bench.start("sh", "-c", "echo ready; exec sleep 100", terminal=[24, 80])
    bench.until(lambda: b"ready" in bench.output(number))
    bench.processes.feed(number, b"\x03")
    assert bench.status(number) == -signal.SIGINT


def test_closing_a_terminals_input_sends_ctrl_d(bench: Bench) -> None:
    number = bench.start("cat", terminal=[24, 80])
    bench.processes.feed(number, b"line\n")
    bench.until(lambda: b"line\r\nline\r\n" in bench.output(number))
    bench.processes.end_input(number)
    assert bench.status(number) == 0


def test_a_process_that_leaves_its_terminal_gets_no_sighup(bench: Bench) -> None:
    script = "echo ready; exec <&- >&- 2>&-; sleep 0.1; exit 5"
    number = bench.start("bash", "-c", script, terminal=[24, 80])
    assert bench.status(number) == 5
    assert bench.output(number) == b"ready\r\n"
    assert bench.processes._by_number == {}


def test_input_for_a_terminal_that_no_process_has_open_is_dropped(bench: Bench) -> None:
    number = bench.start("true", terminal=[24, 80])
    pid = bench.processes._by_number[number].pid
    # Wait until the process has ended; its end has not been reported yet.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    bench.processes.feed(number, b"too late\n")
    bench.processes.resize(number, 10, 10)
    assert bench.status(number) == 0
    bench.until(lambda: bench.processes._by_number == {})


def test_a_terminal_that_is_not_read_gets_its_input_later(bench: Bench) -> None:
    number = bench.start("sh", "-c", "stty raw -echo; echo ready; wc -c", terminal=[24, 80])
    bench.until(lambda: b"ready" in bench.output(number))
    bench.processes.feed(number, bytes(100_000))
    bench.until(lambda: bench.processes.input_state(number)["input_left_bytes"] == 0)
    bench.processes.signal(number, signal.SIGKILL)
    assert bench.status(number) == -signal.SIGKILL


def test_output_left_without_credit_still_arrives_after_the_end(bench: Bench) -> None:
    command = "printf 1234567890; (read line; printf late) <&0 & exit 0"
    number = bench.start("sh", "-c", command, stdin=True, credit=10)
    assert bench.status(number) == 0
    bench.until(lambda: bench.processes._by_number == {})
    assert bench.output(number) == b"1234567890late"


@pytest.mark.parametrize("credit", [0, 10, 12])
def test_children_write_after_the_end_of_a_program_whose_output_is_unread(
    bench: Bench, credit: int
) -> None:
    command = "printf 1234567890; (read line; printf late) <&0 & exit 0"
    number = bench.start("sh", "-c", command, stdin=True, credit=credit)
    pid = bench.processes._by_number[number].pid
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    bench.processes.reap()
    bench.until(lambda: bench.processes._by_number == {})
    assert bench.output(number) == b"1234567890late"


def test_output_waits_for_credit_while_the_program_runs(bench: Bench) -> None:
    command = "printf 1234567890; read line; printf rest; read line"
    number = bench.start("sh", "-c", command, stdin=True, credit=10)
    bench.until(lambda: bench.output(number) == b"1234567890")
    bench.processes.feed(number, b"\n")
    assert select.select([bench.poll], [], [], 0.1)[0] == []
    bench.processes.grant_credit(number, 100)
    bench.until(lambda: bench.output(number) == b"1234567890rest")
    bench.processes.end_input(number)
    bench.status(number)
