"""Timers on the network's clock: actions that happen at an instant, whatever lets time pass."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from wanlab.machine import Machine
from wanlab.units import FOREVER_NS


class Timer:
    """An action that is due at an instant of the machine's clock."""

    def __init__(self, due_ns: int, action: Callable[[], object]) -> None:
        self.due_ns = due_ns
        self.is_over = False
        """The action has been called, or the timer was cancelled."""
        self._action = action

    def cancel(self) -> None:
        self.is_over = True

    def fire(self) -> None:
        self.is_over = True
        self._action()


class Timers:
    """All timers of a network, ordered by time; those of one instant by the order of their
    creation."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, Timer]] = []
        self._serial_numbers = count()

    def add(self, due_ns: int, action: Callable[[], object]) -> Timer:
        timer = Timer(due_ns, action)
        heapq.heappush(self._queue, (due_ns, next(self._serial_numbers), timer))
        return timer

    def next_due_ns(self) -> int:
        """Return when the next timer is due, FOREVER_NS if there is none."""
        while self._queue and self._queue[0][2].is_over:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else FOREVER_NS

    def pass_time(self, machine: Machine, until_ns: int, condition: Callable[[], bool]) -> None:
        """Let time pass until `until_ns` or until `condition()` is true, and fire the timers that
        are due on the way, including those that are added on the way."""
        while True:
            target_ns = max(machine.now_ns, min(until_ns, self.next_due_ns()))

            def stop(target_ns: int = target_ns) -> bool:
                return condition() or self.next_due_ns() < target_ns

            machine.run(target_ns, stop)
            if condition():
                return
            if machine.now_ns >= self.next_due_ns():
                self.fire_next()
            elif machine.now_ns >= until_ns:
                return

    def fire_next(self) -> None:
        heapq.heappop(self._queue)[2].fire()
