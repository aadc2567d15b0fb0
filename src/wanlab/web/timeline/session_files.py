"""Session files of the laboratory: one for each run of a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wanlab import Network
from wanlab.shared_folder import check_output

from ..protocol.model import ClockKind
from ..running.run_plan import RunPlan


class SessionFiles:
    """Chooses session files: `file` for the first run, and files with numbers beside it for others.

    Without a file, sessions are kept without one, for branches.
    """

    def __init__(self, file: Path | None, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._runs = 0

    def target(self, clock: ClockKind) -> Path | bool:
        """Return where the next run is recorded; True without a file, False if it is not."""
        self._runs += 1
        file = self._file
        if file is None:
            return clock != "real"  # such a session could not be replayed
        if self._runs > 1:
            file = file.with_name(f"{file.stem}-{self._runs}{file.suffix}")
        # The network may have a smaller folder; an earlier one could write here.
        check_output(file, self._folder)
        return file

    def recorded(self, plan: RunPlan) -> RunPlan:
        """Return the plan with a network that records its session."""
        target = self.target(plan.document.preferences.clock)
        if not target:
            return plan

        def make() -> Network:
            network = plan.make()
            network.session.record(target)
            return network

        return replace(plan, make=make)
