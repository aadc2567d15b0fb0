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
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from wanlab import Network, Process

from .editor import Editor
from .lines import VARIABLES, LineService
from .manner import Manner
from .streams import Output
from .strides import LISTEN_REAL_S, SHORT_NS, Strides
from .windows import Windows

CHUNK = 4096
NO_SIZE = (24, 80)
CTRL_C = b"\x03"
WATCH_REAL_S = 0.5
STUCK_REAL_S = 1.0


def serve(
    network: Network, start: Callable[..., Process], command: list[str], manner: Manner
) -> int:
    """Starts the command in a terminal and passes keys on until it ends; returns its status."""
    output = Output(1)
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    with OurTerminal() as ours:
        process = start(
            command,
            terminal=ours.size(),
            environment=passed_on | VARIABLES,
            on_output=output.write,
        )
        session = Session(network, process, output, ours, manner)
        ours.on_watch = session.look_while_stuck
        session.serve()
    assert process.status is not None
    return process.status


# Of a terminal's user; whoever types is no experiment that has to repeat.
PASSED_ON = ("TERM", "COLORTERM", "VISUAL", "EDITOR")


class OurTerminal:
    """The terminal that we run in: raw while in use, and looked at now and then even when time stands
    still in the machine."""

    def __init__(self) -> None:
        self.was_resized = False
        self.on_watch: Callable[[], None] = lambda: None
        """Called every now and then."""

    def __enter__(self) -> OurTerminal:
        self._before = termios.tcgetattr(0)
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()

    @contextlib.contextmanager
    def given_back(self) -> Iterator[None]:
        """As it was, for a while."""
        size = self.size()
        self._give_back()
        try:
            yield
        finally:
            self._take()
            self.was_resized |= self.size() != size

    def _take(self) -> None:
        self._handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, self._resized),
            signal.SIGALRM: signal.signal(signal.SIGALRM, self._watch),
        }
        signal.setitimer(signal.ITIMER_REAL, WATCH_REAL_S, WATCH_REAL_S)
        tty.setraw(0, termios.TCSADRAIN)  # what was typed already is kept

    def _give_back(self) -> None:
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
        self,
        network: Network,
        process: Process,
        output: Output,
        ours: OurTerminal,
        manner: Manner,
    ) -> None:
        self._network = network
        self._process = process
        self._output = output
        self._ours = ours
        self._keys = bytearray()
        self._on_their_way = b""
        self._has_hung_up = False
        self._windows = Windows(network)
        self._always_goes_on = manner.goes_on(network)
        self._strides = Strides(always_short=self._always_goes_on)
        self._lines = LineService(network)
        self._editor = Editor(output, self._let_time_pass)
        self._moved_real_s = time.monotonic()

    def serve(self) -> None:
        """Lets time pass until the process has ended."""
        try:
            self._serve()
        finally:
            self._windows.close()

    def _serve(self) -> None:
        said_bytes = 0
        while self._process.is_running:
            self._pass_on()
            self._network.run_until_condition(self._is_wanted, self._strides.length_ns)
            self._on_their_way = b""
            if self._lines.is_wanted:
                self._read_line()
            has_said = self._output.written_bytes > said_bytes
            said_bytes = self._output.written_bytes
            self._strides.tell(has_said)
            if has_said and not self._strides.always_short and self._is_somebody_busy():
                self._pace()
            if self._strides.is_idle and self._process.is_running:
                self._has_keys(LISTEN_REAL_S)

    def _read_line(self) -> None:
        """For a prompt in the machine. What it then does may take as little time as it can again."""
        if self._network.clock == "real":
            self._process.is_raw_mode()  # an answer comes after all that was said before
        with self._ours.given_back():
            self._lines.serve(self._editor)
        self._strides.always_short = self._goes_on
        self._network.pace_to_real(self._goes_on)
        self._moved_real_s = time.monotonic()

    @property
    def _goes_on(self) -> bool:
        """Time goes on at the prompt, too, and never faster than on the real clock."""
        return self._always_goes_on or self._windows.are_open

    def _let_time_pass(self, is_enough: Callable[[], bool]) -> None:
        """While the prompt waits, as far as it is meant to."""
        if self._goes_on:
            self._network.pace_to_real()
        while self._goes_on and not is_enough():
            self._windows.pass_on()
            self._network.run_until_condition(
                lambda: is_enough() or self._windows.have_keys(), SHORT_NS
            )

    def _is_somebody_busy(self) -> bool:
        """A prompt reads keys for what runs behind it, and tells when that wants them."""
        return self._lines.is_raw_mode if self._lines.is_used else self._process.is_raw_mode()

    def _pass_on(self) -> None:
        if self._ours.was_resized:
            self._ours.was_resized = False
            self._process.resize(*self._ours.size())
        self._read_keys()
        if self._keys:
            self._on_their_way, self._keys = bytes(self._keys), bytearray()
            self._process.write(self._on_their_way)
            self._pace()
        if self._windows.are_open:
            self._windows.pass_on()
            self._pace()
        if self._has_hung_up:
            self._process.signal(signal.SIGHUP)

    def _is_wanted(self) -> bool:
        """Time has passed up to here; asked several times a second unless it stands still."""
        self._moved_real_s = time.monotonic()
        return (
            not self._process.is_running
            or self._lines.is_wanted
            or self._ours.was_resized
            or self._windows.have_keys()
            or self._has_keys(0)
        )

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
