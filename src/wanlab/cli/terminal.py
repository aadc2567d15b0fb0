"""Connects a terminal in the machine to the terminal that we run in.

Every key goes to the program in the machine, including Ctrl-C, which its terminal turns into a signal.

Time passes as fast as possible until the user interacts: after the first key, or when a program waits
for a key (a shell, an editor) or for a line (cat, input()), it is never faster than a real clock.
With `ExecOptions.hurries`, it is faster again once no key has been pressed for a few seconds.
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
from types import FrameType

from wanlab import Network, Process

from .editor import LineEditor
from .exec_options import ExecOptions
from .lines import VARIABLES, LineService
from .streams import Output, print_hints
from .time_slices import LISTEN_REAL_S, SHORT_NS, TimeSlices
from .windows import Windows

CHUNK = 4096
DEFAULT_SIZE = (24, 80)
CTRL_C = b"\x03"
WATCHDOG_REAL_S = 0.5
STUCK_REAL_S = 1.0
HURRY_AFTER_REAL_S = 5.0
"""Long enough to stop a ping after four replies, or to press Enter in a second terminal."""
HURRIED_SPEED = 60
"""A minute in a second. Without a limit, hours would pass while somebody reads."""


def run_in_terminal(
    network: Network, start: Callable[..., Process], command: list[str], options: ExecOptions
) -> int:
    """Run a command in a terminal of the machine; return its status, negative for a signal."""
    output = Output(1)
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # A program may reach its prompt at the instant at which it starts, so its requests are served
    # from before it starts.
    windows, lines = Windows(network), LineService(network, options.on_line)
    if lines.rewinder is not None:
        lines.rewinder.before = windows.close
    with OurTerminal() as ours:
        process = start(
            command,
            terminal=ours.size(),
            environment={**options.environment(network), **variables, **VARIABLES},
            on_output=output.write,
        )
        session = TerminalSession(network, process, output, ours, options, windows, lines)
        ours.on_watchdog = session.end_stalled_process
        session.run()
    print_hints(output)
    assert process.status is not None
    return process.status


# Variables of the user's terminal. An interactive session need not be repeatable.
PASSED_ON = ("TERM", "COLORTERM", "VISUAL", "EDITOR")


class OurTerminal:
    """The terminal that we run in. While in use it is in raw mode.

    A timer calls `on_watchdog` even when time stands still in the machine.
    """

    def __init__(self) -> None:
        self.was_resized = False
        self.on_watchdog: Callable[[], None] = lambda: None
        """Called twice a second."""

    def __enter__(self) -> OurTerminal:
        self._before = termios.tcgetattr(0)
        self._set_raw()
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Restore the terminal's settings during the body."""
        size = self.size()
        self._restore()
        try:
            yield
        finally:
            self._set_raw()
            self.was_resized |= self.size() != size

    def _set_raw(self) -> None:
        self._handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, self._resized),
            signal.SIGALRM: signal.signal(signal.SIGALRM, self._on_timer),
        }
        signal.setitimer(signal.ITIMER_REAL, WATCHDOG_REAL_S, WATCHDOG_REAL_S)
        tty.setraw(0, termios.TCSADRAIN)  # keeps what was typed before

    def _restore(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(termios.error):  # the terminal has gone
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def size(self) -> tuple[int, int]:
        size = os.get_terminal_size(0)
        return (size.lines, size.columns) if size.lines and size.columns else DEFAULT_SIZE

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self.was_resized = True

    def _on_timer(self, number: int, frame: FrameType | None) -> None:
        self.on_watchdog()


class TerminalSession:
    """A user at a terminal of a process: passes keys on and lets time pass."""

    def __init__(
        self,
        network: Network,
        process: Process,
        output: Output,
        ours: OurTerminal,
        options: ExecOptions,
        windows: Windows,
        lines: LineService,
    ) -> None:
        self._network = network
        self._process = process
        self._output = output
        self._ours = ours
        self._keys = bytearray()
        self._keys_being_sent = b""
        self._has_hung_up = False
        self._windows = windows
        self._hurries = options.hurries
        self._paced_real_s = 0.0
        self._runs_at_every_prompt = options.runs_at_prompt(network)
        self._time_slices = TimeSlices(always_short=self._runs_at_every_prompt)
        self._lines = lines
        self._editor = LineEditor(output, self._let_time_pass)
        self._moved_real_s = time.monotonic()

    def run(self) -> None:
        """Let time pass until the process has ended."""
        try:
            self._run()
        finally:
            self._windows.close()

    def _run(self) -> None:
        written_bytes = 0
        while self._process.is_running:
            self._pass_on()
            self._network.run_until_condition(self._needs_attention, self._time_slices.length_ns)
            self._keys_being_sent = b""
            if self._lines.is_wanted:
                self._read_line()
            has_written = self._output.written_bytes > written_bytes
            written_bytes = self._output.written_bytes
            self._time_slices.update(has_written)
            if not self._time_slices.always_short and self._is_interactive(has_written):
                self._pace()
            self._hurry_if_quiet()
            if self._time_slices.is_idle and self._process.is_running:
                self._has_keys(LISTEN_REAL_S)

    def _read_line(self) -> None:
        """Read a line for a prompt in the machine; the command then runs as fast as possible again."""
        if self._network.clock == "real":
            self._process.is_raw_mode()  # waits until all earlier output has arrived
        with self._ours.restored():
            self._lines.serve(self._editor)
        self._time_slices.always_short = self._runs_at_prompt
        self._network.pace_to_real(self._runs_at_prompt)
        self._moved_real_s = time.monotonic()

    @property
    def _runs_at_prompt(self) -> bool:
        """Whether time passes at the prompt, at most as fast as a real clock."""
        return self._runs_at_every_prompt or self._windows.are_open

    def _let_time_pass(self, is_done: Callable[[], bool]) -> None:
        """Let time pass while the prompt waits, until `is_done` returns true, if it may pass then."""
        if self._runs_at_prompt:
            self._network.pace_to_real()
        while self._runs_at_prompt and not is_done():
            self._windows.pass_on()
            self._network.run_until_condition(
                lambda: is_done() or self._windows.have_keys(), SHORT_NS
            )

    def _is_interactive(self, has_written: bool) -> bool:
        """Whether the running program waits for the user.

        It sets the terminal to raw mode when it writes something; a prompt that uses LineService reports
        that of its commands. Or it has been silent for a while, and waits for a line.
        """
        if self._lines.is_used:
            is_raw_mode = self._lines.is_raw_mode
        else:
            is_raw_mode = has_written and self._process.is_raw_mode()
        return is_raw_mode or (self._time_slices.is_long and self._process.waits_for_input())

    def _pass_on(self) -> None:
        if self._ours.was_resized:
            self._ours.was_resized = False
            self._process.resize(*self._ours.size())
        self._read_keys()
        if self._keys:
            self._keys_being_sent, self._keys = bytes(self._keys), bytearray()
            self._process.write(self._keys_being_sent)
            self._pace()
        if self._windows.are_open:
            self._windows.pass_on()
            self._pace()
        if self._has_hung_up:
            self._process.signal(signal.SIGHUP)

    def _needs_attention(self) -> bool:
        """Whether the time slice is to end. Called several times a second while time passes."""
        self._moved_real_s = time.monotonic()
        return (
            not self._process.is_running
            or self._lines.is_wanted
            or self._ours.was_resized
            or self._windows.have_keys()
            or self._has_keys(0)
        )

    def end_stalled_process(self) -> None:
        """End a process that computes without a pause if Ctrl-C was typed.

        Such a process stops time in the whole machine, so it cannot receive the key itself.
        """
        if time.monotonic() - self._moved_real_s < STUCK_REAL_S:
            return
        self._read_keys()
        if CTRL_C in self._keys or CTRL_C in self._keys_being_sent:
            self._keys.clear()
            self._keys_being_sent = b""
            self._network.end_stalled_process()
            print("^C\r\nwanlab: ended a process that computed without a pause\r", file=sys.stderr)

    def _pace(self) -> None:
        """Let time pass no faster than a real clock from now on."""
        self._time_slices.always_short = True
        self._time_slices.short_ns = SHORT_NS
        self._network.pace_to_real()
        self._paced_real_s = time.monotonic()

    def _hurry_if_quiet(self) -> None:
        """Let time pass faster than a real clock if that is wanted and nobody has typed for a while."""
        is_at_real_pace = self._time_slices.always_short and self._time_slices.short_ns == SHORT_NS
        if not self._hurries or not is_at_real_pace:
            return
        if time.monotonic() - self._paced_real_s > HURRY_AFTER_REAL_S:
            self._time_slices.short_ns = HURRIED_SPEED * SHORT_NS
            self._network.pace_to_real(speed=HURRIED_SPEED)

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
