"""Test timers without a kernel: which fire, in which order, and where the clock stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from wanlab.machine import Machine
from wanlab.network.timers import Timers
from wanlab.units import FOREVER_NS


class Clock:
    """Stands in for a machine: a clock that jumps."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.stops: list[int] = []

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        if not stop():
            self.now_ns = until_ns
            self.stops.append(until_ns)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pass_time(
    timers: Timers, clock: Clock, until_ns: int, condition: Callable[[], bool] = lambda: False
) -> None:
    timers.pass_time(cast(Machine, clock), until_ns, condition)


def test_timers_fire_in_order_of_time_and_then_of_creation(clock: Clock) -> None:
    timers, fired = Timers(), list[str]()
    timers.add(20, lambda: fired.append("late"))
    timers.add(10, lambda: fired.append("first"))
    timers.add(10, lambda: fired.append("second"))
    pass_time(timers, clock, 30)
    assert fired == ["first", "second", "late"]
    assert clock.now_ns == 30


def test_a_cancelled_timer_does_not_stop_the_clock(clock: Clock) -> None:
    timers = Timers()
    timer = timers.add(10, lambda: pytest.fail("it was cancelled"))
    timer.cancel()
    assert timers.next_due_ns() == FOREVER_NS
    pass_time(timers, clock, 30)
    assert clock.stops == [30]


def test_a_timer_added_by_a_timer_fires_during_the_same_call(clock: Clock) -> None:
    timers, fired = Timers(), list[int]()
    timers.add(10, lambda: timers.add(15, lambda: fired.append(clock.now_ns)))
    pass_time(timers, clock, 30)
    assert fired == [15]


def test_a_condition_ends_the_wait_before_later_timers(clock: Clock) -> None:
    timers, fired = Timers(), list[int]()
    timers.add(10, lambda: fired.append(10))
    timers.add(20, lambda: fired.append(20))
    pass_time(timers, clock, 30, lambda: fired == [10])
    assert (fired, clock.now_ns) == ([10], 10)


def test_exceptions_propagate_from_the_call_that_lets_time_pass(clock: Clock) -> None:
    def fail() -> None:
        raise ValueError("boom")

    timers = Timers()
    timer = timers.add(10, fail)
    with pytest.raises(ValueError, match="boom"):
        pass_time(timers, clock, 30)
    assert timer.is_over
    pass_time(timers, clock, 30)
    assert clock.now_ns == 30


def test_a_rewind_sets_the_timers_of_before_and_forgets_those_of_later(clock: Clock) -> None:
    timers, fired = Timers(), list[str]()

    def add(name: str, created_ns: int, due_ns: int, *, fires_again: bool = True) -> None:
        timers.add(
            due_ns, lambda: fired.append(name), created_ns=created_ns, fires_again=fires_again
        )

    add("fired before", 0, 10)
    add("fired then", 0, 20)
    add("fired later", 0, 30)
    add("created then", 20, 40)
    add("created later", 21, 40)
    add("of one run", 0, 30, fires_again=False)
    pass_time(timers, clock, 35)
    fired.clear()
    timers.rewind(20)
    clock.now_ns = 20
    pass_time(timers, clock, 50)
    assert fired == ["fired later", "created then"]
    fired.clear()
    timers.rewind(5)
    clock.now_ns = 5
    pass_time(timers, clock, 50)
    assert fired == ["fired before", "fired then", "fired later"]


def test_a_rewind_does_not_set_cancelled_timers(clock: Clock) -> None:
    timers = Timers()
    timers.add(10, lambda: pytest.fail("it was cancelled"), fires_again=True).cancel()
    timers.rewind(0)
    assert timers.next_due_ns() == FOREVER_NS


def test_a_timer_that_is_added_while_the_machine_runs_stops_it_earlier() -> None:
    timers, fired = Timers(), list[int]()

    class SteppingClock(Clock):
        """A machine in which something happens every 10 ns, and may set a timer."""

        def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
            while self.now_ns < until_ns and not stop():
                self.now_ns += 10
                if self.now_ns == 10:
                    timers.add(20, lambda: fired.append(self.now_ns))

    clock = SteppingClock()
    pass_time(timers, clock, 100)
    assert (fired, clock.now_ns) == ([20], 100)
