"""The shell of a node: one bash on a pseudo-terminal, to which commands are sent one after another.

The end of a command is recognised by a mark that the shell writes to its terminal before each
prompt. The mark follows the command's output in the same stream:

    SOH word ":" number ":" status ":" last background pid STX

`word` belongs to this shell, `number` to the command. The late mark of an earlier command (Ctrl-C was
too late) has another number and is dropped. A command is sent as one `eval`, so an unbalanced quote
in it is a syntax error and does not make the shell wait for more.
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
# A terminal accepts lines of at most 4095 bytes (N_TTY_BUF_SIZE); longer commands are split.
MAX_PIECE_CHARACTERS = 600
END_REAL_S = 2.0

_counter = count(1)
# Sent before the first command. `__wanlab` stores a command's number and preserves $?.
PREPARATION = (
    'PS1= PS2= PROMPT_COMMAND=\'printf "\\1{word}:%d:%d:%d\\2" "$__wanlab" "$?" "${{!:-0}}"'
    ' >/dev/tty\'; __wanlab() {{ __wanlab=$2; [ -z "$3" ] || stty echo;'
    " return $1; }}; __wanlab=0; set +m +H; unset HISTFILE\n"
)
START = 'exec bash --norc --noprofile --noediting -is "$1" <>"$0" >&0 2>&0'


class NodeShell:
    """A shell in a node. `wrap` returns the command line that runs a program in that node."""

    def __init__(self, title: str, wrap: Callable[[list[str]], list[str]]) -> None:
        self._word = f"wanlab{os.getpid()}-{next(_counter)}"
        self._mark = re.compile(
            rb"\x01" + self._word.encode() + rb":(\d+):(\d+):(\d+)\x02", re.DOTALL
        )
        self._pending = b""
        self._number = 0
        self._is_interrupted = False
        self._is_gone = False
        self._owner = os.getpid()
        self.is_busy = False
        self.status: int | None = None
        """Exit status of the last command."""
        self.background_pid = 0
        """The shell's $!: the last background process."""
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
        """Discard everything before the first mark."""
        self.is_busy = True
        while self.is_busy:
            self.read()

    @property
    def pid(self) -> int:
        return self.process.pid

    def fileno(self) -> int:
        return self.terminal.fileno()

    @property
    def is_inherited(self) -> bool:
        """Whether this process was forked from the one that started the shell."""
        return os.getpid() != self._owner

    @property
    def has_ended(self) -> bool:
        if self._is_gone or not self.is_inherited:
            return self._is_gone or self.process.poll() is not None
        # Only its parent can wait for it.
        return self._ends_within(0)

    def _ends_within(self, limit_s: float) -> bool:
        """Wait for the end of the shell, which makes its descriptor readable."""
        poll = select.poll()
        poll.register(self._end_descriptor, select.POLLIN)
        return bool(poll.poll(1000 * limit_s))

    # -- commands ---------------------------------------------------------------------------------

    def send(self, command: str, *, echoes: bool = False, has_input: bool = True) -> None:
        """Start a command; call `read` until `is_busy` is false.

        With `echoes` the terminal shows what is typed while the command runs. Without `has_input`,
        nothing will be typed: the command's standard input is at its end.
        """
        assert not self.is_busy, "the shell is busy with another command"
        self._number += 1
        self._is_interrupted = False
        self.status = None
        self.is_busy = True
        begin = f"__wanlab $? {self._number}{' +' * echoes}"
        stdin = "" if has_input else " </dev/null"
        self._write(f"{begin}; eval {quoted(command)}{stdin}\n".encode())

    def interrupt(self, character: str = INTERRUPT) -> None:
        """Type Ctrl-C, if a command is running."""
        if self.is_busy:
            self._is_interrupted = True
            self._write(character.encode())

    def write(self, data: bytes) -> None:
        """Type `data` to the running command."""
        self._write(data)

    def read(self, timeout_ms: int | None = None) -> bytes:
        """Wait for output of the command and return it; empty on timeout or if it has ended."""
        if not self._is_readable(timeout_ms):
            return b""
        try:
            data = os.read(self.fileno(), CHUNK)
        except OSError:  # EIO: no process has the terminal open any more
            data = b""
        if not data:
            return self._close_pending()
        return self._strip_marks(data)

    def is_readable(self, timeout_ms: int | None = None) -> bool:
        """Wait for output; return whether there is some."""
        return bool(self._pending) or self._is_readable(timeout_ms)

    def _is_readable(self, timeout_ms: int | None) -> bool:
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        poll.register(self._end_descriptor, select.POLLIN)
        events = dict(poll.poll(timeout_ms))
        if self.fileno() not in events and self._end_descriptor in events:
            self.is_busy = False
            return False
        return self.fileno() in events

    def _strip_marks(self, data: bytes) -> bytes:
        """Return the output in `data` without marks; the beginning of a mark is kept for later."""
        self._pending += data
        output = b""
        while mark := self._mark.search(self._pending):
            output += self._pending[: mark.start()]
            self._pending = self._pending[mark.end() :]
            number, status, background = map(int, mark.groups())
            if number == self._number or self._is_dropped(number):
                self.status = status
                self.background_pid = background
                self.is_busy = False
                self._reset_terminal()
        start = self._pending.rfind(b"\x01")
        if start >= 0 and self._may_be_mark(self._pending[start:]):
            rest, self._pending = self._pending[:start], self._pending[start:]
        else:
            rest, self._pending = self._pending, b""
        return output + rest

    def _reset_terminal(self) -> None:
        """Turn echo off for the next command, and undo the settings of a program that was killed."""
        if termios.tcgetattr(self.fileno()) != self._settings:
            termios.tcsetattr(self.fileno(), termios.TCSANOW, self._settings)

    def _is_dropped(self, number: int) -> bool:
        """Whether the terminal has discarded the command because Ctrl-C came before the shell read it.

        The shell then shows its previous prompt again.
        """
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
        """Hang up: end the shell and its background processes.

        A forked process only closes its descriptors and leaves the processes to its parent.
        """
        if self.terminal.closed:
            return
        if self.is_inherited:
            self.terminal.close()
            os.close(self._end_descriptor)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGHUP)
        self.terminal.close()
        if not self._ends_within(END_REAL_S):
            self.process.kill()
        self.process.wait()
        os.close(self._end_descriptor)


_SPECIAL = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


def quoted(command: str) -> str:
    """Quote a command as one word for bash, in lines short enough for a terminal."""
    pieces = []
    for start in range(0, len(command), MAX_PIECE_CHARACTERS):
        piece = command[start : start + MAX_PIECE_CHARACTERS]
        escaped = "".join(
            _SPECIAL.get(c) or (f"\\x{ord(c):02x}" if c < " " or c == "\x7f" else c) for c in piece
        )
        pieces.append(f"$'{escaped}'")
    return "\\\n".join(pieces) or "''"
