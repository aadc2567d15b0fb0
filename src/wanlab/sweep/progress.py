"""The progress of a sweep, as it is reported to a listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SweepProgress:
    """The state of a sweep at one moment."""

    total: int
    finished: int = 0
    """Runs that have succeeded, including those that the folder or the cache already had."""
    cached: int = 0
    """Runs among the finished ones that the folder or the cache already had."""
    failed: int = 0
    running: tuple[str, ...] = ()
    """The titles of the runs that are being performed."""
    real_s: float = 0.0
    left_s: float | None = None
    """Estimated time until the end; None before the first run has ended."""
    note: str = ""
    """The reason why fewer runs are performed at once than possible; otherwise ""."""
    event: str = ""
    """A line about an event that has just happened; usually empty."""


Listener = Callable[[SweepProgress], None]
