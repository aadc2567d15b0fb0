"""A terminal of the machine's in the terminal that we run in.

Every key goes to the program in the machine, Ctrl-C too: its own terminal makes the signal of it.

Time passes as fast as it can until somebody is at work: from the first key on, and from when a
program does its own line editing (a shell, an editor), it is never faster than the real clock.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from types import FrameType, TracebackType

from wanlab import Network, Process

from .streams import Output
from .strides import LISTEN_REAL_S, Strides

CHUNK = 4096
NO_SIZE = (24, 80)
CTRL_C = b"\x03"
WATCH_REAL_S = 0.5
STUCK_REAL_S = 1.0


def attend(network: Network, start: Callable[..., Process], command: list[str]) -> int:
    """Starts the command in a terminal and passes keys on until it ends; returns its status."""
    output = Output(1)
    with OurTerminal() as ours:
        process = start(
            command,
            terminal=ours.size(),
            environment={name: os.environ[name] for name in PASSED_ON if name in os.environ},
            on_output=output.write,
        )
        session = Session(network, process, output, ours)
        ours.on_watch = session.look_while_stuck
        session.attend()
    assert process.status is not None
    return process.status


PASSED_ON = ("TERM", "COLORTERM")


class OurTerminal:
    """The terminal that we run in: raw while in use, and looked at now and then even when time stands
    still in the machine."""

    def __init__(self) -> None:
        self.was_resized = False
        self.on_watch: Callable[[], None] = lambda: None
        """Called every now and then."""

    def __enter__(self) -> OurTerminal:
        self._before = termios.tcgetattr(0)
        self._handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, self._resized),
            signal.SIGALRM: signal.signal(signal.SIGALRM, self._watch),
        }
        signal.setitimer(signal.ITIMER_REAL, WATCH_REAL_S, WATCH_REAL_S)
        tty.setraw(0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(termios.error):  # it has gone
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def size(self) -> tuple[int, int]:
        size = os.get_terminal_size(0)
        return (size.lines, size.columns) if size.lines and size.columns else NO_SIZE

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self.was_resized = True

    def _watch(self, number: int, frame: FrameType | None) -> None:
        self.on_watch()


class Session:
    """Somebody at the keys of a process."""

    def __init__(
        self, network: Network, process: Process, output: Output, ours: OurTerminal
    ) -> None:
        self._network = network
        self._process = process
        self._output = output
        self._ours = ours
        self._keys = bytearray()
        self._on_their_way = b""
        self._has_hung_up = False
        self._strides = Strides(always_short=network.clock == "real")
        self._moved_real_s = time.monotonic()

    def attend(self) -> None:
        """Lets time pass until the process has ended."""
        said_bytes = 0
        while self._process.is_running:
            self._pass_on()
            self._network.run_until_condition(self._is_wanted, self._strides.length_ns)
            self._on_their_way = b""
            has_said = self._output.written_bytes > said_bytes
            said_bytes = self._output.written_bytes
            self._strides.tell(has_said)
            if has_said and not self._strides.always_short and self._process.reads_keys():
                self._pace()
            if self._strides.is_idle and self._process.is_running:
                self._has_keys(LISTEN_REAL_S)

    def _pass_on(self) -> None:
        if self._ours.was_resized:
            self._ours.was_resized = False
            self._process.resize(*self._ours.size())
        self._read_keys()
        if self._keys:
            self._on_their_way, self._keys = bytes(self._keys), bytearray()
            self._process.write(self._on_their_way)
            self._pace()
        if self._has_hung_up:
            self._process.signal(signal.SIGHUP)

    def _is_wanted(self) -> bool:
        """Time has passed up to here; asked several times a second unless it stands still."""
        self._moved_real_s = time.monotonic()
        return not self._process.is_running or self._ours.was_resized or self._has_keys(0)

    def look_while_stuck(self) -> None:
        """A process that computes without a pause stops time for everybody, and hears no key: Ctrl-C
        ends it all the same."""
        if time.monotonic() - self._moved_real_s < STUCK_REAL_S:
            return
        self._read_keys()
        if CTRL_C in self._keys or CTRL_C in self._on_their_way:
            self._keys.clear()
            self._on_their_way = b""
            self._network.end_stalled_process()
            print("^C\r\nwanlab: ended what computed without a pause\r", file=sys.stderr)

    def _pace(self) -> None:
        """Somebody is at work."""
        self._strides.always_short = True
        self._network.pace_to_real()

    def _has_keys(self, real_s: float) -> bool:
        return not self._has_hung_up and bool(select.select([0], [], [], real_s)[0])

    def _read_keys(self) -> None:
        while self._has_keys(0):
            try:
                data = os.read(0, CHUNK)
            except OSError:
                data = b""
            if not data:  # our terminal has gone
                self._has_hung_up = True
            self._keys += data
