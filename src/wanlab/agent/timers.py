"""A timer that makes a descriptor readable at regular instants.

On virtual time it is /dev/ticks (our patch): an instant of the calendar. A timer of the kernel's
(timerfd_create(2)) would let others go early that may be (select() has a slack), so that looking would
change what is seen. It is what there is on every other machine; Python has it from 3.13 on.
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


class Timer:
    """Every `every_ns` from now on."""

    def __init__(self, every_ns: int) -> None:
        if os.path.exists(TICKS):
            self.descriptor = os.open(TICKS, os.O_RDWR | os.O_CLOEXEC)
            os.write(self.descriptor, every_ns.to_bytes(8, "little"))
        else:
            self.descriptor = _timer_descriptor(every_ns)

    def passed(self) -> int:
        """How many of its instants have passed since the last call; call it when it is readable."""
        return int.from_bytes(os.read(self.descriptor, 8), "little")

    def close(self) -> None:
        os.close(self.descriptor)


def _timer_descriptor(every_ns: int) -> int:
    descriptor: int = _libc.timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)
    if descriptor < 0:
        raise _error("make a timer")
    span = divmod(every_ns, SECOND_NS)
    wanted = ctypes.create_string_buffer(_ITIMERSPEC.pack(*span, *span))
    if _libc.timerfd_settime(descriptor, 0, wanted, None) != 0:
        error = _error("set a timer")
        os.close(descriptor)
        raise error
    return descriptor


def _error(attempt: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{attempt}: {os.strerror(number)}")
