"""Session files of the laboratory: one for each run of a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wanlab import Network

from .model import ClockKind
from .run_plan import RunPlan


class SessionFiles:
    """Chooses session files: `file` for the first run, and files with numbers beside it for others.

    Without a file, sessions are kept without one, for branches.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._runs = 0

    def target(self, clock: ClockKind) -> Path | bool:
        """Return where the next run is recorded; True without a file, False if it is not."""
        self._runs += 1
        file = self._file
        if file is None:
            return clock != "real"  # such a session could not be replayed
        return file if self._runs == 1 else file.with_name(f"{file.stem}-{self._runs}{file.suffix}")

    def recorded(self, plan: RunPlan) -> RunPlan:
        """Return the plan with a network that records its session."""
        target = self.target(plan.document.preferences.clock)
        if not target:
            return plan

        def make() -> Network:
            network = plan.make()
            network.record_session(target)
            return network

        return replace(plan, make=make)
