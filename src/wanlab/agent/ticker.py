"""A timer that makes a descriptor readable at regular instants.

On virtual time it is /dev/ticks (our patch), which books the instants in the calendar. The kernel's own
timer (timerfd_create(2)) would make timers with slack, such as that of select(), expire early together
with it, so that sampling would change the sampled programs. Other machines use the kernel's timer, which
Python offers from 3.13 on.
"""

from __future__ import annotations

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

TICKS = "/dev/ticks"
CLOCK_MONOTONIC = 1
TFD_CLOEXEC, TFD_NONBLOCK = 0o2000000, 0o4000
_ITIMERSPEC = struct.Struct("@llll")  # interval, then first: seconds and nanoseconds
SECOND_NS = 1_000_000_000


class Ticker:
    """A timer that expires every `every_ns` from now on."""

    def __init__(self, every_ns: int) -> None:
        if os.path.exists(TICKS):
            self.descriptor = os.open(TICKS, os.O_RDWR | os.O_CLOEXEC)
            os.write(self.descriptor, every_ns.to_bytes(8, "little"))
        else:
            self.descriptor = _timer_descriptor(every_ns)

    def passed(self) -> int:
        """Return how often it has expired since the last call. Call it when `descriptor` is readable."""
        return int.from_bytes(os.read(self.descriptor, 8), "little")

    def close(self) -> None:
        os.close(self.descriptor)


def _timer_descriptor(every_ns: int) -> int:
    descriptor: int = _libc.timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)
    if descriptor < 0:
        raise _error("make a timer")
    span = divmod(every_ns, SECOND_NS)
    setting = ctypes.create_string_buffer(_ITIMERSPEC.pack(*span, *span))
    if _libc.timerfd_settime(descriptor, 0, setting, None) != 0:
        error = _error("set a timer")
        os.close(descriptor)
        raise error
    return descriptor


def _error(attempt: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{attempt}: {os.strerror(number)}")
