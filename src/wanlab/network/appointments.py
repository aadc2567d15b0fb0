"""What is to be done later, on the network's clock, while time passes for whatever reason."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

from wanlab.machine import Machine

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

    def pass_time(self, machine: Machine, until_ns: int, condition: Callable[[], bool]) -> None:
        """Until then, or until the condition holds. What is due on the way is done, also if it was asked
        for on the way."""
        while True:
            target_ns = max(machine.now_ns, min(until_ns, self.next_due_ns()))

            def stop(target_ns: int = target_ns) -> bool:
                return condition() or self.next_due_ns() < target_ns

            machine.run(target_ns, stop)
            if condition():
                return
            if machine.now_ns >= self.next_due_ns():
                self.keep_one()
            elif machine.now_ns >= until_ns:
                return

    def keep_one(self) -> None:
        """The next one is due."""
        heapq.heappop(self._waiting)[2].keep()
