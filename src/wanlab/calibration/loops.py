"""Times of loops, in processor time, without what other programs on the computer add.

A loop runs in batches of about a hundred repetitions, some tenths of a millisecond. Interrupts,
cold caches and other programs can only make a batch longer, so the shortest batch counts. How far
the lower quartile is from it says how well it is known.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wanlab.parent_death import end_with_parent

MIN_BATCHES = 12
CPUCLOCK_SCHED = 2
"""The kind of a process's clock, in the number of the clock (`clock_getcpuclockid`)."""
Loop = Callable[[range], None]
Clock = Callable[[], int]

LIBC = ctypes.CDLL(None, use_errno=True)


def _function(name: str) -> Callable[..., int]:
    """Return a function of the C library that is called like send(): all calls then cost the same."""
    function = LIBC[name]
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


send, recv = _function("send"), _function("recv")
no_call = _function("abs")
"""It ignores all arguments but the first, and makes no system call."""


@dataclass(frozen=True)
class Measured:
    """A duration in ns (or, of a slope, in ns per byte), and how far it may be too high."""

    value: float
    error: float

    def __add__(self, other: Measured) -> Measured:
        return Measured(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Measured) -> Measured:
        return Measured(self.value - other.value, self.error + other.error)

    def __mul__(self, factor: float) -> Measured:
        return Measured(self.value * factor, self.error * factor)

    def __truediv__(self, divisor: float) -> Measured:
        return self * (1 / divisor)


def shortest(times: Iterable[float]) -> Measured:
    """Return the shortest of several times of the same work."""
    ordered = sorted(times)
    return Measured(ordered[0], ordered[len(ordered) // 4] - ordered[0])


def repeated(
    loop: Loop, *, seconds: float, count: int = 100, clock: Clock = time.thread_time_ns
) -> Measured:
    """Return the time of one repetition of a loop."""
    times: list[float] = []
    repetitions, end_s = range(count), time.monotonic() + seconds
    while len(times) < MIN_BATCHES or time.monotonic() < end_s:
        before_ns = clock()
        loop(repetitions)
        times.append((clock() - before_ns) / count)
    return shortest(times)


def slope(times: dict[int, Measured]) -> Measured:
    """Return the slope of a straight line through times by size (least squares)."""
    mean_size = sum(times) / len(times)
    mean_ns = sum(time.value for time in times.values()) / len(times)
    spread = sum((size - mean_size) ** 2 for size in times)
    value = sum((size - mean_size) * (times[size].value - mean_ns) for size in times) / spread
    off = sum((times[size].value - mean_ns - value * (size - mean_size)) ** 2 for size in times)
    return Measured(value, (off / (len(times) - 2) / spread) ** 0.5)


@contextmanager
def other_process(serve: Callable[[], None]) -> Iterator[Clock]:
    """Run a function in a child process during the block, and kill the process at its end.

    Yield a clock with the processor time of both processes, in ns.
    """
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            end_with_parent(parent)
            serve()
        finally:
            os._exit(1)
    of_child = (~child << 3) | CPUCLOCK_SCHED
    try:
        yield lambda: time.thread_time_ns() + time.clock_gettime_ns(of_child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@contextmanager
def on_cores(*cores: int) -> Iterator[None]:
    """Let this process, and those that it starts, run on these cores only during the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
