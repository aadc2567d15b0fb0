"""Session files of the laboratory: one for each run of a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wanlab import Network

from .run_plan import RunPlan


class SessionFiles:
    """The first run is recorded in `file`, and the others in files with numbers beside it.

    Without a file, sessions are kept without one, for branches.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._runs = 0

    def recorded(self, plan: RunPlan) -> RunPlan:
        """Return the plan with a network that records its session."""
        self._runs += 1
        file = self._file
        if file is None and plan.document.preferences.clock == "real":
            return plan  # it could not be replayed
        if file is not None and self._runs > 1:
            file = file.with_name(f"{file.stem}-{self._runs}{file.suffix}")

        def make() -> Network:
            network = plan.make()
            network.record_session(file or True)
            return network

        return replace(plan, make=make)
