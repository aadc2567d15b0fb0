"""Waiting by the machine's clock.

`time.sleep` counts from the program's own last reading of the clock, and at one instant each reading
says 1 ns more than the one before. Python reads the clock whenever it acquires a lock, each version a
different number of times. `select` leaves counting to the kernel, so the events that follow are at
the same instants with each version.
"""

from __future__ import annotations

import select

START_PAUSE_S = 0.001


def pause(duration_s: float) -> None:
    """Wait for `duration_s` seconds of the machine's time."""
    select.select((), (), (), duration_s)


def pause_after_start() -> None:
    """Wait until the clock has passed its readings during the start.

    Their number then changes no later event.
    """
    pause(START_PAUSE_S)
