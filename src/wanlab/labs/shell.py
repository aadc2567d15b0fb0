r"""A terminal of a lab: a bash that stays open, typed into from outside the machine.

    terminal = LabShell(network, "h1", network["h1"].start, folder, {"HOME": ...})
    terminal.type("ping -c 3 10.0.0.2")
    terminal.wait(10_000_000_000)
    terminal.take_output()

Before each prompt, the shell writes a mark after its output, which shows that a command has ended:

    SOH word ":" number ":" status ":" folder STX

`number` is the number of the typed line, so a late prompt, after a Ctrl-C, is not mistaken for the end
of the next command. The terminal does not echo; its output is what commands print.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.kept_output import keep_beginning

SIZE = (50, 200)
"""Rows and columns."""
INTERRUPT = b"\x03"
START_LIMIT_NS = 10_000_000_000
POLL_NS = 1_000_000_000
MIN_REAL_S = 300.0
"""Commands that do not hang may still take long on a busy computer."""
MAX_REQUESTS = 3
"""A process that has not ended after so many requests never will."""
MAX_MARK_BYTES = 128 << 10
MAX_KEPT_BYTES = 16 << 20
CUT = b"\n(there was more output)\n"
"""Follows the output that is kept of a command."""
COMMAND = ("/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
PREPARATION = (
    "stty -echo -opost; set +H; unset HISTFILE; PS1= PS2=;"
    ' __wanlab() {{ __wanlab=$2; return "$1"; }}; __wanlab=0;'
    ' PROMPT_COMMAND=\'printf "\\1{word}:%d:%d:%s\\2" "$__wanlab" "$?" "$PWD"\'\n'
)
WORD = "wanlab"
MARK = re.compile(rb"\x01" + WORD.encode() + rb":(\d{1,9}):(\d{1,9}):([^\x02]{0,65536})\x02")
MARK_BEGINNING = re.compile(rb"\x01[^\x02]*\Z")
# The output of programs that use the alternate screen, and other control sequences.
SCREEN = re.compile(r"\x1b\[\?1049h.*?(?:\x1b\[\?1049l|\Z)", re.DOTALL)
CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])"
)


def run_until(
    network: Network,
    limit_ns: int,
    is_over: Callable[[], bool],
    on_progress: Callable[[], None],
) -> None:
    """Let time pass until `is_over()` is true, for at most `limit_ns`.

    The limit also holds for real time, of which MIN_REAL_S are always allowed. `on_progress` is called
    for every second that passes. Raises WanlabError if a program kept time from passing.
    """
    end_ns = network.now_ns + limit_ns
    end_real_s = time.monotonic() + max(limit_ns / 1e9, MIN_REAL_S)
    with StallGuard(network) as guard:
        while not is_over() and network.now_ns < end_ns and time.monotonic() < end_real_s:
            on_progress()
            network.run_until_condition(is_over, min(POLL_NS, end_ns - network.now_ns))
    if guard.has_acted:
        raise WanlabError(f"a program computed for {MIN_REAL_S:g} s without a pause; it was ended")


class StallGuard:
    """Ends a program that keeps virtual time from passing.

    It also ends a program that computes without system calls: the kernel preempts such a program, and
    virtual time then passes only as fast as real time. If time still does not pass, the kernel itself
    is stuck, and the machine is ended: calls underway raise MachineError.
    """

    def __init__(self, network: Network) -> None:
        self.has_acted = False
        self._network = network
        self._requests = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> StallGuard:
        if self._network.clock == "virtual":
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()

    def _watch(self) -> None:
        preemptions = self._network.machine.preemptions
        now_ns, known, since = self._network.now_ns, len(preemptions), time.monotonic()
        while not self._is_over.wait(MIN_REAL_S / 10):
            if self._network.now_ns != now_ns and len(preemptions) == known:
                now_ns, since = self._network.now_ns, time.monotonic()
                self._requests = 0
            elif time.monotonic() - since > MIN_REAL_S:
                self._act()
                known, since = len(preemptions), time.monotonic()

    def _act(self) -> None:
        self.has_acted = True
        self._requests += 1
        if self._requests <= MAX_REQUESTS:
            self._network.end_stalled_process()
        else:
            self._network.kill()


def not_ended(limit_ns: int) -> str:
    """Return the problem of a command that did not end within its limit."""
    real_s = max(limit_ns / 1e9, MIN_REAL_S)
    return (
        f"it had not ended after {limit_ns / 1e9:g} s of virtual time or {real_s:g} s of real time"
    )


class LabShell:
    """A terminal. Time passes only in `wait`."""

    def __init__(
        self,
        network: Network,
        name: str,
        start: Callable[..., Process],
        folder: str,
        environment: Mapping[str, str],
    ) -> None:
        self.name = name
        self.folder = folder
        """The shell's working folder."""
        self.status = 0
        """The exit status of the last command."""
        self.is_interrupted = False
        self._network = network
        self._pending = b""
        self._output = bytearray()
        self._is_cut = False
        self._number = 0
        self._is_busy = True
        self._process = start(
            list(COMMAND),
            folder=folder,
            terminal=SIZE,
            environment=dict(environment),
            on_output=self._take,
        )
        self._process.write(PREPARATION.format(word=WORD))
        self.wait(START_LIMIT_NS)
        self._output.clear()

    @property
    def has_ended(self) -> bool:
        return not self._process.is_running

    @property
    def is_busy(self) -> bool:
        """Whether the last command is still running."""
        return self._is_busy and not self.has_ended

    def type(self, line: str, *, enter: bool = True) -> None:
        """Type a line, and Enter unless `enter` is false (see `press_enter`)."""
        assert not self.is_busy, f"{self.name} is busy"
        self._number += 1
        self._is_busy = True
        self.is_interrupted = False
        self._process.write(f"__wanlab $? {self._number}; {line}" + "\n" * enter)

    def press_enter(self) -> None:
        self._process.write("\n")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.is_interrupted = True
        self._process.write(INTERRUPT)

    def wait(
        self,
        limit_ns: int,
        is_enough: Callable[[], bool] = lambda: False,
        on_progress: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait until the command has ended or `is_enough()` is true; return whether it has ended.

        `on_progress` is called for every second that passes.
        """
        run_until(self._network, limit_ns, lambda: not self.is_busy or is_enough(), on_progress)
        return not self.is_busy

    @property
    def output(self) -> str:
        """The output since the last call of `take_output`."""
        return plain(bytes(self._output).decode(errors="replace"))

    def take_output(self) -> str:
        """Return the output since the last call."""
        text = self.output
        self._output.clear()
        self._is_cut = False
        return text

    def close(self) -> None:
        """End the shell."""
        if not self.has_ended:
            self._process.signal(9)

    def _take(self, data: bytes) -> None:
        self._pending += data
        while mark := MARK.search(self._pending):
            self._keep(self._pending[: mark.start()])
            self._pending = self._pending[mark.end() :]
            # A Ctrl-C in the middle of a line (an open quote) leads back to the prompt before it.
            if int(mark[1]) in (self._number, self._number - self.is_interrupted):
                self.status = int(mark[2])
                self.folder = mark[3].decode(errors="replace")
                self._is_busy = False
        beginning = MARK_BEGINNING.search(self._pending)
        end = beginning.start() if beginning else len(self._pending)
        if len(self._pending) - end > MAX_MARK_BYTES:
            end = len(self._pending)
        self._keep(self._pending[:end])
        self._pending = self._pending[end:]

    def _keep(self, data: bytes) -> None:
        if not keep_beginning(self._output, data, MAX_KEPT_BYTES) and not self._is_cut:
            self._output += CUT
            self._is_cut = True


def plain(text: str) -> str:
    """Return text without control sequences of terminals, and with newlines as line ends."""
    return CONTROL.sub("", SCREEN.sub("", text)).replace("\r\n", "\n").replace("\r", "\n")
