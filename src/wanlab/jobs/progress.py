"""The progress of a batch of jobs, as it is reported to a listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunningJob:
    """A job that is being performed."""

    title: str
    said: str = ""
    """What it said last about its progress; "" if nothing."""


@dataclass(frozen=True)
class BatchProgress:
    """The state of a batch at one moment."""

    total: int
    finished: int = 0
    """Jobs that have succeeded, including those whose results were known before."""
    cached: int = 0
    """Jobs among the finished ones whose results were known before."""
    failed: int = 0
    running: tuple[str, ...] = ()
    """The titles of the jobs that are being performed."""
    says: tuple[str, ...] = ()
    """What each of them said last about its progress; "" if nothing."""
    real_s: float = 0.0
    left_s: float | None = None
    """Estimated time until the end; None before the first job has ended."""
    note: str = ""
    """The reason why fewer jobs are performed at once than possible; otherwise ""."""
    event: str = ""
    """A line about an event that has just happened; usually empty."""

    @property
    def done(self) -> int:
        """How many jobs are over."""
        return self.finished + self.failed

    def text(self) -> str:
        """Describe the state in a line."""
        parts = [f"{self.finished} of {self.total} done"]
        if self.cached:
            parts.append(f"{self.cached} from the cache")
        if self.running:
            parts.append(f"{len(self.running)} running")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.left_s is not None:
            parts.append(f"{_duration(self.left_s)} left")
        if self.note:
            parts.append(self.note)
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


Listener = Callable[[BatchProgress], None]
"""Called whenever something has changed. If it raises an exception, the batch ends, and its jobs too."""
