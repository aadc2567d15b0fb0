"""Makes the reports of units: a separate process performs all steps of one unit at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.job import Job
from wanlab.jobs.worker import JobProgram
from wanlab.labs.series import SeededUnit, load_units, unit_job
from wanlab.labs.unit import Unit
from wanlab.network import NO_CHOICE, MachineChoice

from ..background_job import BackgroundJob
from ..folder import WorkingFolder
from ..protocol.messages import MessagePush
from ..protocol.push import Push
from ..running_tasks import RunningTasks
from .unit_progress import ProgressFile

RESULTS = "results"
MAX_STEP_LENGTH = 200


class UnitReports:
    """The report that is being made, if any. `changed` is called whenever there is news of it."""

    def __init__(
        self,
        folder: WorkingFolder,
        progress: ProgressFile,
        push: Callable[[Push], None],
        changed: Callable[[], None],
        choice: MachineChoice = NO_CHOICE,
    ) -> None:
        self._folder = folder
        self._progress = progress
        self._push = push
        self._changed = changed
        self._choice = choice
        self._job: BackgroundJob | None = None
        self._tasks = RunningTasks()
        self.unit: Unit | None = None
        """The unit whose report is being made."""
        self.step = ""
        """The step that is being performed."""

    async def start(self, unit: Unit) -> None:
        """Begin to make the report of a unit, which takes minutes and can be cancelled."""
        if self.unit is not None:
            raise WanlabError(
                f"the report of {self.unit.heading} is being made",
                "wait until it is ready, or cancel it",
            )
        self.unit, self.step = unit, ""
        self._job = BackgroundJob(JobProgram(load_units), self._show)
        self._changed()
        self._tasks.start(self._make(unit, self._job))

    def cancel(self) -> None:
        """Stop making a report."""
        if self._job is not None:
            self._job.cancel()

    async def _make(self, unit: Unit, job: BackgroundJob) -> None:
        """Show the steps while they are performed, and say how it ended."""

        def job_in(folder: Path) -> Job:
            task = SeededUnit(unit.name, unit.seed, unit.heading)
            return unit_job(
                task,
                "virtual",
                Path(RESULTS),
                folder,
                self._folder.path,
                choice=self._choice,
            )

        failed = await job.perform(job_in)
        self._job, self.unit = None, None
        page = f"{RESULTS}/{unit.run_name(unit.seed)}/report.html"
        if failed == "" and self._folder.shared.has_file(page):
            self._progress.keep_report(unit, page)
            self._push(MessagePush(level="info", what=f"the report of {unit.heading} is ready"))
            return
        self._changed()
        if failed is not None:  # otherwise it was cancelled
            what = f"the report of {unit.heading} could not be made"
            self._push(MessagePush(level="error", what=what, hint=failed))

    def _show(self, step: str) -> None:
        self.step = step[:MAX_STEP_LENGTH]
        self._changed()
