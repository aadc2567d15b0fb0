"""Delays Ctrl-C during an exchange with a machine, so that it never cuts a message in half.

Python raises KeyboardInterrupt between any two instructions: for example after the kernel was found to
be waiting and before it is allowed to continue. Then each side would wait for the other for ever. So a
SIGINT during an exchange is only noted, and its handler (of Python, a notebook or a command line)
runs at the next point at which the exchange may be left. A second SIGINT is not delayed, and then the
handler runs for both.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object]


@contextlib.contextmanager
def signals_blocked() -> Iterator[None]:
    """Delay signals that end a program until the body is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Interruption:
    """Use `with interruption:` around an exchange, and call `allow` or `allow_during` in it often."""

    def __init__(self) -> None:
        self._depth = 0
        self._handler: Handler | None = None
        """The handler that was installed before; None if there is none, or in another thread."""
        self._is_noted = self._is_allowed = False

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1 or threading.current_thread() is not threading.main_thread():
            return
        self._is_noted = False
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth or self._handler is None:
            return
        handler, self._handler = self._handler, None
        signal.signal(signal.SIGINT, handler)
        if self._is_noted:
            handler(signal.SIGINT, None)

    def allow(self) -> None:
        """Run the handler here if a SIGINT was noted."""
        if self._is_noted:
            self._is_noted = False
            self._handle(signal.SIGINT, None)

    def allow_during(self, wait: Callable[[], T]) -> T:
        """Call `wait`, during which the handler may run at any point."""
        self._is_allowed = True
        try:
            self.allow()
            return wait()
        finally:
            self._is_allowed = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._is_allowed or self._is_noted:
            self.allow()  # each counts: a handler may ask for two
            self._handle(number, frame)
        else:
            self._is_noted = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        assert self._handler is not None
        self._handler(number, frame)
