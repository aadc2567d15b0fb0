"""What is to be done later, on the network's clock, while time passes for whatever reason."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

NEVER_NS = 1 << 63


class Appointment:
    """Something that will be done when the time comes."""

    def __init__(self, due_ns: int, action: Callable[[], Any]) -> None:
        self.due_ns = due_ns
        self.is_over = False
        """Done, or cancelled."""
        self._action = action

    def cancel(self) -> None:
        self.is_over = True

    def keep(self) -> None:
        self.is_over = True
        self._action()


class Appointments:
    """In order of time; of those for one instant, in the order in which they were made."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Appointment]] = []
        self._numbers = count()

    def make(self, due_ns: int, action: Callable[[], Any]) -> Appointment:
        appointment = Appointment(due_ns, action)
        heapq.heappush(self._waiting, (due_ns, next(self._numbers), appointment))
        return appointment

    def next_due_ns(self) -> int:
        """When time has to stop for the next one."""
        while self._waiting and self._waiting[0][2].is_over:
            heapq.heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else NEVER_NS

    def keep_one(self) -> None:
        """The next one is due."""
        heapq.heappop(self._waiting)[2].keep()
