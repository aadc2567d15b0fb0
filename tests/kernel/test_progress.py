"""Progress is one line on a terminal, and a line per 10 % elsewhere."""

import io

from kernelbuild.progress import Progress, format_seconds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def run(stream: io.StringIO, steps: int, expected: int) -> str:
    clock = Clock()
    progress = Progress(stream, expected, clock)
    progress.phase("compiling")
    for _ in range(steps):
        clock.now_s += 1
        progress.step()
    return stream.getvalue()


def test_without_a_terminal_there_is_a_line_per_10_percent() -> None:
    lines = run(io.StringIO(), 100, 100).splitlines()
    assert len(lines) == 1 + 9
    assert lines[5] == "kernel: compiling  50%, 0:50 so far, about 0:50 left"


def test_on_a_terminal_there_is_one_line() -> None:
    assert "\n" not in run(Terminal(), 100, 100)


def test_more_steps_than_expected_never_show_more_than_99_percent() -> None:
    assert "100%" not in run(Terminal(), 300, 100)


def test_seconds_are_shown_as_minutes_and_seconds() -> None:
    assert [format_seconds(value) for value in (0, 9.6, 83)] == ["0:00", "0:10", "1:23"]
