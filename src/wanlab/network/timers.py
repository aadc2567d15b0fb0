"""Timers: actions that are called at an instant, no matter which call lets time pass."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from wanlab.machine import Machine
from wanlab.units import FOREVER_NS


class Timer:
    """An action that is due at an instant of the machine's clock."""

    def __init__(
        self, due_ns: int, action: Callable[[], object], created_ns: int, fires_again: bool
    ) -> None:
        self.due_ns = due_ns
        self.created_ns = created_ns
        self.fires_again = fires_again
        """Whether it is set again when the network is rewound to before it fired."""
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
        self._fired: list[Timer] = []

    def add(
        self,
        due_ns: int,
        action: Callable[[], object],
        *,
        created_ns: int = 0,
        fires_again: bool = False,
    ) -> Timer:
        timer = Timer(due_ns, action, created_ns, fires_again)
        self._push(timer)
        return timer

    def _push(self, timer: Timer) -> None:
        heapq.heappush(self._queue, (timer.due_ns, next(self._serial_numbers), timer))

    def rewind(self, time_ns: int) -> None:
        """Set the timers as they were at `time_ns`; those that were cancelled stay cancelled."""
        waiting = [timer for _, _, timer in self._queue if not timer.is_over]
        fired, self._fired, self._queue = self._fired, [], []
        for timer in [*fired, *sorted(waiting, key=lambda timer: timer.due_ns)]:
            if timer.fires_again and timer.created_ns <= time_ns:
                timer.is_over = timer.due_ns <= time_ns
                if timer.is_over:
                    self._fired.append(timer)
                else:
                    self._push(timer)
            else:
                timer.cancel()

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
        timer = heapq.heappop(self._queue)[2]
        if timer.fires_again:
            self._fired.append(timer)
        timer.fire()
