"""Runs a command and shows its progress: its latest line of output and the time since its start.

On a terminal this is one line that is overwritten. Elsewhere it is a line after the first second, one
every ten seconds, and one at the end. A command that takes less than a second prints nothing. Long
output (pip lists all that it installs in one line) is cut to the width of a page.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TextIO

from kernelbuild.programs import interrupts_held

from .errors import DevError

TICK_S = 0.5
WORTH_A_LINE_S = 1.0
NOTE_EVERY_S = 10.0
NOTE_COLUMNS = 100
TAIL_LINES = 25
END_S = 10.0
_CLEAR = "\r\x1b[K"


class Progress:
    """Shows the progress of a command. Call `take` with its output, and `tick` regularly."""

    def __init__(
        self, what: str, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._stream = stream
        self._terminal = stream.isatty()
        self._clock = clock
        self._started = clock()
        self._note_at = self._started + WORTH_A_LINE_S
        self._rest = ""
        self.lines: list[str] = []

    def take(self, text: str) -> None:
        """Take output of the command, in pieces of any size."""
        *done, self._rest = (self._rest + text).replace("\r", "\n").split("\n")
        self.lines += [line.rstrip() for line in done if line.strip()]

    def tick(self) -> None:
        """Show the progress, if it is time."""
        latest = self.lines[-1].strip() if self.lines else ""
        if self._terminal:
            text = f"{self._what}: {self._elapsed()} s  {latest}"
            self._write(_CLEAR + text[: shutil.get_terminal_size().columns - 1])
        elif self._clock() >= self._note_at:
            self._note_at = self._clock() + NOTE_EVERY_S
            self._note(f"{self._elapsed()} s  {_cut(latest, NOTE_COLUMNS - len(self._what) - 10)}")

    def finish(self, outcome: str = "done") -> None:
        """Show the outcome in a line that stays."""
        if self._clock() - self._started < WORTH_A_LINE_S:
            self.clear()
        else:
            self._note(f"{outcome} ({self._elapsed()} s)")

    def clear(self) -> None:
        """Erase the line on the terminal."""
        if self._terminal:
            self._write(_CLEAR)

    def _note(self, text: str) -> None:
        self._write(f"{_CLEAR if self._terminal else ''}{self._what}: {text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _elapsed(self) -> int:
        return round(self._clock() - self._started)


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else f"{text[: columns - 3]}..."


def run(
    what: str,
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    ends_children: bool = True,
) -> None:
    """Run a command. If it fails, raise DevError with the end of its output."""
    status, lines = run_quietly(
        what, command, folder=folder, environment=environment, ends_children=ends_children
    )
    if status != 0:
        tail = "\n".join(f"  {line}" for line in lines[-TAIL_LINES:])
        raise DevError(f"{what} failed (exit status {status}): {shlex.join(command)}", tail)


def run_quietly(
    what: str,
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    ends_children: bool = True,
) -> tuple[int, list[str]]:
    """Run a command and return its exit status and the lines of its output.

    If we are interrupted, the command ends, and with `ends_children` everything it has started.
    """
    progress = Progress(what, sys.stderr)
    try:
        with _started(command, folder, environment, ends_children) as process:
            assert process.stdout is not None
            _follow(process.stdout, progress)
            status = process.wait()
    except OSError as error:
        raise DevError(f"{what}: cannot start {command[0]}: {error.strerror}") from None
    except BaseException:
        progress.clear()
        raise
    progress.take("\n")
    progress.finish("done" if status == 0 else f"exit status {status}")
    return status, progress.lines


@contextlib.contextmanager
def _started(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None,
    ends_children: bool,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that is ended at the end of the body."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with interrupts_held():
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment) if environment is not None else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0 if ends_children else None,
            )
        yield process
    finally:
        if process is not None:
            if process.poll() is None:
                _end(process, ends_children)
            if process.stdout is not None:
                process.stdout.close()


def _end(process: subprocess.Popen[bytes], with_children: bool) -> None:
    def send(number: signal.Signals) -> None:
        # We may not signal a process that runs as root (sudo); Ctrl-C ends it as it ends us.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            (os.killpg if with_children else os.kill)(process.pid, number)

    send(signal.SIGTERM)
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        send(signal.SIGKILL)
        process.wait()
    if with_children:
        send(signal.SIGKILL)


def _follow(output: IO[bytes], progress: Progress) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            if selector.select(TICK_S):
                data = os.read(output.fileno(), 65536)
                if not data:
                    return
                progress.take(data.decode(errors="replace"))
            progress.tick()
