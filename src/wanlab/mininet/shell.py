"""A shell that stays: one bash on a terminal of its own, to which commands are sent one after another.

How the end of a command is recognised: before each prompt the shell writes a mark into its terminal,
in the same stream as the command's output and behind it,

    SOH word ":" number ":" status ":" last background pid STX

`word` is this shell's own, `number` that of the command. A late mark of an earlier command (after a
Ctrl-C that came too late) bears another number and is dropped. A command is sent as one `eval`, so an
unbalanced quote in it is the shell's syntax error, and not a wait for more.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import termios
from collections.abc import Callable
from itertools import count

INTERRUPT = "\x03"
CHUNK = 65536
# A terminal takes lines of 4095 bytes; what is longer is sent in pieces.
MOST_CHARACTERS = 600
END_REAL_S = 2.0

_counter = count(1)
# Set before the first command. `__wanlab` notes a command's number and keeps $? as it is.
PREPARATION = (
    'PS1= PS2= PROMPT_COMMAND=\'printf "\\1{word}:%d:%d:%d\\2" "$__wanlab" "$?" "${{!:-0}}"'
    ' >/dev/tty\'; __wanlab() {{ __wanlab=$2; [ -z "$3" ] || stty echo;'
    " return $1; }}; __wanlab=0; set +m +H; unset HISTFILE\n"
)
START = 'exec bash --norc --noprofile --noediting -is "$1" <>"$0" >&0 2>&0'


class Shell:
    """`wrap` makes the command line that runs a program in the node."""

    def __init__(self, title: str, wrap: Callable[[list[str]], list[str]]) -> None:
        self._word = f"wanlab{os.getpid()}-{next(_counter)}"
        self._mark = re.compile(
            rb"\x01" + self._word.encode() + rb":(\d+):(\d+):(\d+)\x02", re.DOTALL
        )
        self._pending = b""
        self._number = 0
        self._is_interrupted = False
        self._is_gone = False
        self.is_busy = False
        self.status: int | None = None
        """Of the last command."""
        self.background_pid = 0
        """The shell's $!"""
        master, slave = os.openpty()
        try:
            settings = termios.tcgetattr(slave)
            settings[3] &= ~termios.ECHO
            termios.tcsetattr(slave, termios.TCSANOW, settings)
            self._settings = termios.tcgetattr(slave)
            self.process = subprocess.Popen(
                wrap(["/bin/sh", "-c", START, os.ttyname(slave), title]),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._end_descriptor = os.pidfd_open(self.process.pid)
            self.terminal = os.fdopen(master, "r+b", buffering=0)
            self._write(PREPARATION.format(word=self._word).encode())
            self._skip_greeting()
        finally:
            os.close(slave)

    def _skip_greeting(self) -> None:
        """What comes before the first mark is the shell's own business."""
        self.is_busy = True
        while self.is_busy:
            self.read()

    @property
    def pid(self) -> int:
        return self.process.pid

    def fileno(self) -> int:
        return self.terminal.fileno()

    @property
    def has_ended(self) -> bool:
        return self._is_gone or self.process.poll() is not None

    # -- commands ---------------------------------------------------------------------------------

    def send(self, command: str, *, echoes: bool = False) -> None:
        """Starts a command; `read` until it is not busy any more. `echoes`: its terminal shows what is
        typed, as long as it runs."""
        assert not self.is_busy, "the shell is busy with another command"
        self._number += 1
        self._is_interrupted = False
        self.status = None
        self.is_busy = True
        begin = f"__wanlab $? {self._number}{' +' * echoes}"
        self._write(f"{begin}; eval {quoted(command)}\n".encode())

    def interrupt(self, character: str = INTERRUPT) -> None:
        """What Ctrl-C does, if a command runs."""
        if self.is_busy:
            self._is_interrupted = True
            self._write(character.encode())

    def write(self, data: bytes) -> None:
        """What is typed to the command that runs."""
        self._write(data)

    def read(self, timeout_ms: int | None = None) -> bytes:
        """What the command has written; waits for something. Empty: nothing came in that time, or it
        has ended."""
        if not self._is_readable(timeout_ms):
            return b""
        try:
            data = os.read(self.fileno(), CHUNK)
        except OSError:  # EIO: nobody has the terminal open any more
            data = b""
        if not data:
            return self._close_pending()
        return self._take(data)

    def is_readable(self, timeout_ms: int | None = None) -> bool:
        """Whether something arrives in time."""
        return bool(self._pending) or self._is_readable(timeout_ms)

    def _is_readable(self, timeout_ms: int | None) -> bool:
        watch = select.poll()
        watch.register(self.fileno(), select.POLLIN)
        watch.register(self._end_descriptor, select.POLLIN)
        events = dict(watch.poll(timeout_ms))
        if self.fileno() not in events and self._end_descriptor in events:
            self.is_busy = False
            return False
        return self.fileno() in events

    def _take(self, data: bytes) -> bytes:
        """The output in `data`, without marks; what may be the beginning of one waits for its rest."""
        self._pending += data
        said = b""
        while found := self._mark.search(self._pending):
            said += self._pending[: found.start()]
            self._pending = self._pending[found.end() :]
            number, status, background = map(int, found.groups())
            if number == self._number or self._is_dropped(number):
                self.status = status
                self.background_pid = background
                self.is_busy = False
                self._put_terminal_right()
        start = self._pending.rfind(b"\x01")
        if start >= 0 and self._may_be_mark(self._pending[start:]):
            rest, self._pending = self._pending[:start], self._pending[start:]
        else:
            rest, self._pending = self._pending, b""
        return said + rest

    def _put_terminal_right(self) -> None:
        """The next command must not be shown when it is sent; and a program that was killed may have
        left the terminal as it needed it."""
        if termios.tcgetattr(self.fileno()) != self._settings:
            termios.tcsetattr(self.fileno(), termios.TCSANOW, self._settings)

    def _is_dropped(self, number: int) -> bool:
        """A Ctrl-C that is faster than the command makes the terminal forget the command: the shell
        shows its prompt once more."""
        return self._is_interrupted and number == self._number - 1

    def _may_be_mark(self, tail: bytes) -> bool:
        word = b"\x01" + self._word.encode() + b":"
        if len(tail) <= len(word):
            return word.startswith(tail)
        return tail.startswith(word) and len(tail) < len(word) + 64

    def _close_pending(self) -> bytes:
        self.is_busy = False
        self._is_gone = True
        rest, self._pending = self._pending, b""
        return rest

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.fileno(), data) :]

    # -- the end ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Hangs up: the shell ends, and what it runs in the background with it."""
        if self.terminal.closed:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGHUP)
        self.terminal.close()
        try:
            self.process.wait(END_REAL_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._end_descriptor)


_SPECIAL = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


def quoted(command: str) -> str:
    """As one word for bash, in lines that a terminal takes."""
    pieces = []
    for start in range(0, len(command), MOST_CHARACTERS):
        piece = command[start : start + MOST_CHARACTERS]
        escaped = "".join(
            _SPECIAL.get(c) or (f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c) for c in piece
        )
        pieces.append(f"$'{escaped}'")
    return "\\\n".join(pieces) or "''"
