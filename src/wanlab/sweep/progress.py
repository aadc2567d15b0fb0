"""How far a sweep is, as it tells a listener."""

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
    """Why fewer runs are performed at once than possible."""
    event: str = ""
    """What has just happened, in a line; usually empty."""


Listener = Callable[[SweepProgress], None]
