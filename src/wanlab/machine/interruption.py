"""Ctrl-C while a machine is talked to: it comes where it tears nothing.

Python raises KeyboardInterrupt between any two of its instructions: after the kernel was found waiting
and before it is let go on, say. Then both would wait for each other from there on. So while a
conversation goes on, a SIGINT is noted; whoever wants it (Python, a notebook, a command line) gets it
where the conversation may be left. A second one is not held back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class Interruption:
    """`with interruption:` around a conversation; in it, again and again, `may_come` or `may_end`."""

    def __init__(self) -> None:
        self._depth = 0
        self._before: Any = None
        """The handler that we stand before; None: there is none, or signals go to another thread."""
        self._is_noted = self._is_welcome = False

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1 or threading.current_thread() is not threading.main_thread():
            return
        self._is_noted = False
        before = signal.getsignal(signal.SIGINT)
        if callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._note)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth or self._before is None:
            return
        before, self._before = self._before, None
        signal.signal(signal.SIGINT, before)
        if self._is_noted:
            before(signal.SIGINT, None)

    def may_come(self) -> None:
        """Here the conversation may be left."""
        if self._is_noted:
            self._is_noted = False
            self._before(signal.SIGINT, None)

    def may_end(self, wait: Callable[[], T]) -> T:
        """Performs this wait, which may be left at any point."""
        self._is_welcome = True
        try:
            self.may_come()
            return wait()
        finally:
            self._is_welcome = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._is_welcome or self._is_noted:
            self._is_noted = False
            self._before(number, frame)
        else:
            self._is_noted = True
