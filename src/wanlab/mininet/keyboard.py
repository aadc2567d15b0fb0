"""Keys for a command that runs in a node: our terminal is passed through to its terminal.

Every key goes there, Ctrl-C too, and what is pasted: the node's terminal makes signals and echoes of
them. Where our standard input is no terminal, nothing is passed on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import termios
import tty
from types import FrameType, TracebackType
from typing import IO, Any

from wanlab.errors import RequirementError
from wanlab.network import call_host

CHUNK = 65536
SIZE = b"\0" * 8


class Keyboard:
    """Raw while in use."""

    def __init__(self, stdin: IO[str], node: Any) -> None:
        self._node = node
        self._keys: int | None = stdin.fileno() if _is_terminal(stdin) else None
        self._has_told = False

    def __enter__(self) -> Keyboard:
        if self._keys is not None:
            self._output: int = self._node.stdout.fileno()
            self._before = termios.tcgetattr(self._keys)
            self._end = os.pidfd_open(self._node.pid)
            self._handler = signal.signal(signal.SIGWINCH, self._resized)
            self._resize()
            tty.setraw(self._keys, termios.TCSANOW)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._keys is not None:
            signal.signal(signal.SIGWINCH, self._handler)
            termios.tcsetattr(self._keys, termios.TCSANOW, self._before)
            os.close(self._end)

    def wait(self) -> None:
        """Until the node has something to say, or its shell has ended; passes keys on meanwhile."""
        if self._keys is None:
            return
        self._tell_that_keys_are_read()
        while True:
            ready, _, _ = select.select([self._output, self._end, self._keys], [], [])
            if self._keys in ready:
                self._node.write(os.read(self._keys, CHUNK))
            if self._output in ready or self._end in ready:
                return

    def _tell_that_keys_are_read(self) -> None:
        """To whoever lets time pass: a shell or an editor runs, somebody is at work. Not in a machine
        without a host service."""
        if not self._has_told and not termios.tcgetattr(self._output)[3] & termios.ICANON:
            self._has_told = True
            with contextlib.suppress(RequirementError):
                call_host({"do": "keys"})

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self._resize()

    def _resize(self) -> None:
        """The node's terminal is as large as ours; who works in it is told by the kernel."""
        assert self._keys is not None
        size = fcntl.ioctl(self._keys, termios.TIOCGWINSZ, SIZE)
        fcntl.ioctl(self._output, termios.TIOCSWINSZ, size)


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError):  # it has no descriptor
        return False
