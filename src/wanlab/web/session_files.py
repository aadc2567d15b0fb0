"""Session files of the laboratory: one for each run of a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wanlab import Network

from .run_plan import RunPlan


class SessionFiles:
    """The first run is recorded in `file`, and the others in files with numbers beside it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._runs = 0

    def recorded(self, plan: RunPlan) -> RunPlan:
        """Return the plan with a network that records its session."""
        self._runs += 1
        file = self._file
        if self._runs > 1:
            file = file.with_name(f"{file.stem}-{self._runs}{file.suffix}")

        def make() -> Network:
            network = plan.make()
            network.record_session(file)
            return network

        return replace(plan, make=make)
