"""Makes the reports of units: a separate process performs all steps of one unit at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from wanlab.errors import WanlabError
from wanlab.labs import unit_process
from wanlab.labs.unit import Unit

from .folder import WorkingFolder
from .protocol import MessagePush
from .push import Push
from .running_tasks import RunningTasks
from .unit_progress import ProgressFile

RESULTS = "results"
LINES_KEPT = 20
MAX_STEP_LENGTH = 200


class UnitReports:
    """The report that is being made, if any. `changed` is called whenever there is news of it."""

    def __init__(
        self,
        folder: WorkingFolder,
        progress: ProgressFile,
        push: Callable[[Push], None],
        changed: Callable[[], None],
    ) -> None:
        self._folder = folder
        self._progress = progress
        self._push = push
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._tasks = RunningTasks()
        self.unit: Unit | None = None
        """The unit whose report is being made."""
        self.step = ""
        """The step that the process performs."""

    async def start(self, unit: Unit) -> None:
        """Begin to make the report of a unit, which takes minutes and can be cancelled."""
        if self.unit is not None:
            raise WanlabError(
                f"the report of {self.unit.heading} is being made",
                "wait until it is ready, or cancel it",
            )
        self.unit, self.step = unit, ""
        results = self._folder.path / RESULTS
        try:
            self._process = await asyncio.create_subprocess_exec(
                *unit_process.command(
                    unit.name, "--seed", str(unit.seed), "--results", str(results)
                ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                preexec_fn=unit_process.end_with_parent,
            )
        except BaseException:
            self.unit = None
            raise
        self._changed()
        self._tasks.start(self._follow(unit, self._process))

    def cancel(self) -> None:
        """Stop making a report."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def _follow(self, unit: Unit, process: asyncio.subprocess.Process) -> None:
        """Show the steps while they are performed, and say how it ended."""
        assert process.stdout is not None
        output: list[str] = []
        async for line in process.stdout:
            output = [*output[-LINES_KEPT:], line.decode(errors="replace").rstrip()]
            self.step = output[-1][:MAX_STEP_LENGTH]
            self._changed()
        status = await process.wait()
        self._process, self.unit = None, None
        page = self._folder.path / RESULTS / unit.run_name(unit.seed) / "report.html"
        if page.is_file() and status in (0, 1):
            self._progress.keep_report(unit, self._folder.path_of(page))
            self._push(MessagePush(level="info", what=f"the report of {unit.heading} is ready"))
            return
        self._changed()
        if status >= 0:  # otherwise it was cancelled
            what = f"the report of {unit.heading} could not be made"
            self._push(MessagePush(level="error", what=what, hint="\n".join(output[-5:])))
