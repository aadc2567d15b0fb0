"""A limit on real time that does not run out while this process is suspended."""

from __future__ import annotations

import time

MAX_COUNTED_REAL_S = 1.0


class Patience:
    """How long to wait for something, at first `real_s`.

    Between two looks, at most MAX_COUNTED_REAL_S count. A longer gap means that this process was
    suspended (by a batch system, or the lid of a laptop), probably with what it waits for.
    """

    def __init__(self, real_s: float) -> None:
        self._left_real_s = real_s
        self._looked_at_real_s = time.monotonic()

    def look(self) -> float:
        """Count the time since the last look; return what is left, 0 or less when it is over."""
        now = time.monotonic()
        self._left_real_s -= min(now - self._looked_at_real_s, MAX_COUNTED_REAL_S)
        self._looked_at_real_s = now
        return self._left_real_s

    @property
    def is_over(self) -> bool:
        return self.look() <= 0

    def timeout_real_s(self, max_real_s: float) -> float:
        """Return how long to wait, at most `max_real_s`, before looking again."""
        return max(0.0, min(max_real_s, MAX_COUNTED_REAL_S, self.look()))
