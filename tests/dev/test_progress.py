import io
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dev.errors import DevError
from dev.progress import TAIL_LINES, Progress, run, run_quietly


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_outside_a_terminal_a_line_appears_every_ten_seconds() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress("work", stream, clock)
    progress.take("one\ntwo\nthr")
    for _ in range(25):
        clock.now += 1
        progress.tick()
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "work: 1 s  two",
        "work: 11 s  two",
        "work: 21 s  two",
        "work: done (25 s)",
    ]


def test_long_output_is_cut_outside_a_terminal() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress("pip install", stream, clock)
    progress.take(f"Installing collected packages: {', '.join(['package'] * 200)}\n")
    for _ in range(25):
        clock.now += 10
        progress.tick()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 25
    assert lines[0].startswith("pip install: 10 s  Installing collected packages: package, package")
    assert lines[0].endswith("...")
    assert max(map(len, lines)) <= 100


def test_on_a_terminal_one_line_is_overwritten() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("work", stream, clock)
    progress.take("one\n")
    progress.tick()
    clock.now += 3
    progress.finish()
    assert stream.getvalue() == "\r\x1b[Kwork: 0 s  one\r\x1b[Kwork: done (3 s)\n"


def test_a_command_that_ends_at_once_prints_no_line() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress("work", stream, clock)
    clock.now += 0.9
    progress.tick()
    progress.finish()
    assert stream.getvalue() == ""


def test_output_may_come_in_pieces_of_any_size() -> None:
    progress = Progress("work", io.StringIO(), Clock())
    for sign in "10%\r100%\ndone\n":
        progress.take(sign)
    assert progress.lines == ["10%", "100%", "done"]


def test_the_end_of_a_failed_commands_output_is_shown(tmp_path: Path) -> None:
    program = "print(*range(100), sep='\\n'); raise SystemExit(3)"
    with pytest.raises(DevError) as caught:
        run("counting", [sys.executable, "-c", program], folder=tmp_path)
    assert caught.value.what.startswith("counting failed (exit status 3): ")
    assert caught.value.hint.split() == [str(number) for number in range(100 - TAIL_LINES, 100)]


def test_a_missing_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DevError, match="cannot start wanlab-nowhere: No such file"):
        run("it", ["wanlab-nowhere"], folder=tmp_path)


def test_the_last_line_needs_no_newline(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.write('a\\nb')"
    assert run_quietly("it", [sys.executable, "-c", program], folder=tmp_path) == (0, ["a", "b"])


def test_an_interrupt_while_a_command_is_being_started_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class InterruptedPopen(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", InterruptedPopen)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run("sleeping", ["/bin/sleep", "60"], folder=tmp_path)
    assert started[0].returncode == -signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is before
