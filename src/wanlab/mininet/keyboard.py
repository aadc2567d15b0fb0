"""Passes keys from our terminal to the terminal of a command in a node.

Every key is passed on, including Ctrl-C and pasted text: the node's terminal turns them into signals
and echoes them. If our standard input is not a terminal, nothing is passed on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import termios
import time
import tty
from types import FrameType
from typing import IO

from wanlab.agent.terminal_readers import waits_for_input
from wanlab.errors import RequirementError
from wanlab.network import call_host

from .hosts import Node

CHUNK = 65536
FIRST_LOOK_S = 0.3
LOOKS_AFTER = 1 / 8
SIZE = b"\0" * 8


class Keyboard:
    """A context manager; our terminal is in raw mode while it lasts."""

    def __init__(self, stdin: IO[str], node: Node) -> None:
        self._node = node
        self._keys: int | None = stdin.fileno() if _is_terminal(stdin) else None
        self._has_reported = False
        self._start_s = time.monotonic()

    def __enter__(self) -> Keyboard:
        if self._keys is not None:
            self._output: int = self._node.stdout.fileno()
            self._before = termios.tcgetattr(self._keys)
            self._end = os.pidfd_open(self._node.pid)
            self._handler = signal.signal(signal.SIGWINCH, self._resized)
            self._resize()
            tty.setraw(self._keys, termios.TCSANOW)
        return self

    def __exit__(self, *_: object) -> None:
        if self._keys is not None:
            signal.signal(signal.SIGWINCH, self._handler)
            termios.tcsetattr(self._keys, termios.TCSANOW, self._before)
            os.close(self._end)

    def wait(self) -> None:
        """Pass on keys until the node writes something or its shell has ended."""
        if self._keys is None:
            return
        if not termios.tcgetattr(self._output)[3] & termios.ICANON:  # a shell, an editor
            self._report()
        while True:
            limit_s = None if self._has_reported else self._look_again_s()
            ready, _, _ = select.select([self._output, self._end, self._keys], [], [], limit_s)
            if self._keys in ready:
                self._node.write(os.read(self._keys, CHUNK))
            if self._output in ready or self._end in ready:
                return
            if not ready and waits_for_input(self._output):  # cat, input()
                self._report()

    def _look_again_s(self) -> float:
        """Return when to look again whether the command waits for a line, in seconds of network time.

        Meanwhile, time passes as fast as possible; so the pauses are a fraction of the command's time.
        """
        return max(FIRST_LOOK_S, (time.monotonic() - self._start_s) * LOOKS_AFTER)

    def _report(self) -> None:
        """Tell the host service that the command waits for the user.

        Time then passes no faster than on a real clock.
        """
        if not self._has_reported:
            self._has_reported = True
            with contextlib.suppress(RequirementError):
                call_host({"do": "keys"})

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self._resize()

    def _resize(self) -> None:
        """Give the node's terminal the size of ours; the kernel notifies the programs in it."""
        assert self._keys is not None
        size = fcntl.ioctl(self._keys, termios.TIOCGWINSZ, SIZE)
        fcntl.ioctl(self._output, termios.TIOCSWINSZ, size)


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError):  # it has no file descriptor
        return False
