"""Lets time pass while programs send without a pause.

On virtual time, a program that writes and the agent that reads take no time: a program that never
stops writing would fill the memory of the user's side within one instant, and no other event would ever
come. So after a burst the agent sleeps for a moment. The programs then wait for it, and the machine is
idle.
"""

from __future__ import annotations

import time

MAX_BURST_BYTES = 16 << 20
OUTPUT_BYTES = 200
"""The memory of a frame on the user's side, besides its body."""
REQUEST_BYTES = 1 << 16
"""The same for a request, which is also kept until the machine is idle, and answered."""
PAUSE_S = 0.001


class Bursts:
    """Counts what programs send, and sleeps for PAUSE_S if MAX_BURST_BYTES took less time than that."""

    def __init__(self) -> None:
        self._bytes = 0
        self._began_s = time.monotonic()

    def sent(self, frame_bytes: int) -> None:
        self._bytes += frame_bytes
        if self._bytes < MAX_BURST_BYTES:
            return
        self._bytes = 0
        if time.monotonic() - self._began_s < PAUSE_S:
            time.sleep(PAUSE_S)
        self._began_s = time.monotonic()
