"""One terminal of a lab: a bash that stays, typed into from outside.

    terminal = Shell(network, "h1", network["h1"], folder, {"HOME": ...})
    terminal.type("ping -c 3 10.0.0.2")
    terminal.wait(10_000_000_000)
    terminal.take_output()

How the end of a command is known: before each prompt the shell writes a mark behind its output,

    SOH word ":" number ":" status ":" folder STX

`number` is that of the line typed, so a prompt that comes late, after a Ctrl-C, is not taken for the
end of the next command. The terminal does not echo; what it holds is what commands print.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from wanlab import Network, Process
from wanlab.errors import WanlabError

SIZE = (50, 200)
INTERRUPT = b"\x03"
START_LIMIT_NS = 10_000_000_000
LOOK_NS = 1_000_000_000
REAL_LEAST_S = 300.0
"""A busy computer is not taken for a command that hangs, or for one that keeps time from passing."""
COMMAND = ("/bin/bash", "--norc", "--noprofile", "--noediting", "-i")
PREPARATION = (
    "stty -echo -opost; set +H; unset HISTFILE; PS1= PS2=;"
    ' __wanlab() {{ __wanlab=$2; return "$1"; }}; __wanlab=0;'
    ' PROMPT_COMMAND=\'printf "\\1{word}:%d:%d:%s\\2" "$__wanlab" "$?" "$PWD"\'\n'
)
WORD = "wanlab"
MARK = re.compile(rb"\x01" + WORD.encode() + rb":(\d+):(\d+):([^\x02]*)\x02")
MAY_BE_MARK = re.compile(rb"\x01[^\x02]*\Z")
# What a program that draws on the whole screen shows there, and other orders to a terminal.
SCREEN = re.compile(r"\x1b\[\?1049h.*?(?:\x1b\[\?1049l|\Z)", re.DOTALL)
ORDERS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])"
)


def let_pass(
    network: Network, limit_ns: int, is_over: Callable[[], bool], tell: Callable[[], None]
) -> None:
    """Lets time pass until `is_over`, at most for so long, and at most for as long on the real clock (or
    REAL_LEAST_S); `tell` is called every second of it. WanlabError if a program kept time from it."""
    end_ns = network.now_ns + limit_ns
    end_real_s = time.monotonic() + max(limit_ns / 1e9, REAL_LEAST_S)
    with Watch(network) as watch:
        while not is_over() and network.now_ns < end_ns and time.monotonic() < end_real_s:
            tell()
            network.run_until_condition(is_over, min(LOOK_NS, end_ns - network.now_ns))
    if watch.has_acted:
        raise WanlabError(
            f"a program computed for {REAL_LEAST_S:g} s without a pause, so that no time could pass; "
            "it was ended"
        )


class Watch:
    """Ends a program that keeps virtual time from passing: nobody else would."""

    def __init__(self, network: Network) -> None:
        self.has_acted = False
        self._network = network
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        if self._network.clock == "virtual":
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()

    def _watch(self) -> None:
        now_ns, since = self._network.now_ns, time.monotonic()
        while not self._is_over.wait(REAL_LEAST_S / 10):
            if self._network.now_ns != now_ns:
                now_ns, since = self._network.now_ns, time.monotonic()
            elif time.monotonic() - since > REAL_LEAST_S:
                self.has_acted = True
                self._network.end_stalled_process()
                since = time.monotonic()


def not_ended(limit_ns: int) -> str:
    """What is said of a command that was given up."""
    real_s = max(limit_ns / 1e9, REAL_LEAST_S)
    return f"it had not ended after {limit_ns / 1e9:g} s of the network's time, or {real_s:g} s of ours"


class Shell:
    """A terminal. Time passes only in `wait`."""

    def __init__(
        self,
        network: Network,
        name: str,
        start: Callable[..., Process],
        folder: str,
        environment: dict[str, str],
    ) -> None:
        self.name = name
        self.folder = folder
        """Where the shell is."""
        self.status = 0
        """Of the last command."""
        self.is_interrupted = False
        self._network = network
        self._pending = b""
        self._output = bytearray()
        self._number = 0
        self._is_busy = True
        self._process = start(
            list(COMMAND),
            folder=folder,
            terminal=SIZE,
            environment=environment,
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
        """Whether the last command still runs."""
        return self._is_busy and not self.has_ended

    def type(self, line: str, *, enter: bool = True) -> None:
        """A line, and Enter unless that is to come later."""
        assert not self.is_busy, f"{self.name} is busy"
        self._number += 1
        self._is_busy = True
        self.is_interrupted = False
        self._process.write(f"__wanlab $? {self._number}; {line}" + "\n" * enter)

    def press_enter(self) -> None:
        self._process.write("\n")

    def press(self, keys: bytes) -> None:
        """To the program that runs."""
        self._process.write(keys)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.is_interrupted = True
        self._process.write(INTERRUPT)

    def wait(
        self,
        limit_ns: int,
        also: Callable[[], bool] = lambda: False,
        tell: Callable[[], None] = lambda: None,
    ) -> bool:
        """Lets time pass until the command has ended, or `also` holds; whether it has. `tell` is called
        every second of it."""
        let_pass(self._network, limit_ns, lambda: not self.is_busy or also(), tell)
        return not self.is_busy

    @property
    def output(self) -> str:
        """What was printed since it was taken last."""
        return plain(bytes(self._output).decode(errors="replace"))

    def take_output(self) -> str:
        """What was printed since the last time."""
        text = self.output
        self._output.clear()
        return text

    def close(self) -> None:
        """Hangs up."""
        if not self.has_ended:
            self._process.signal(9)

    def _take(self, data: bytes) -> None:
        self._pending += data
        while found := MARK.search(self._pending):
            self._output += self._pending[: found.start()]
            self._pending = self._pending[found.end() :]
            # A Ctrl-C in the middle of a line (an open quote) leads back to the prompt before it.
            if int(found[1]) in (self._number, self._number - self.is_interrupted):
                self.status = int(found[2])
                self.folder = found[3].decode(errors="replace")
                self._is_busy = False
        cut = MAY_BE_MARK.search(self._pending)
        end = cut.start() if cut else len(self._pending)
        self._output += self._pending[:end]
        self._pending = self._pending[end:]


def plain(text: str) -> str:
    """Without what only a screen understands."""
    return ORDERS.sub("", SCREEN.sub("", text)).replace("\r\n", "\n").replace("\r", "\n")
