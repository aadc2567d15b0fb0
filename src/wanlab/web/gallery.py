"""The gallery in the browser: published figures are run in a separate process, one at a time."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from wanlab.errors import WanlabError
from wanlab.jobs.job import Job
from wanlab.jobs.worker import JobProgram

from .background_job import BackgroundJob
from .folder import WorkingFolder
from .limits import ClassRules
from .protocol.commands import GalleryCommand
from .protocol.gallery import Gallery, GalleryFigure, GalleryPrediction, GalleryPush
from .protocol.messages import FilesPush, MessagePush
from .protocol.push import Push
from .running_tasks import RunningTasks

if TYPE_CHECKING:
    from wanlab.gallery.judgement import JudgedPrediction
    from wanlab.gallery.measurement import MeasuredFigure
    from wanlab.gallery.unit import GalleryUnit, Prediction

RESULTS = "results/gallery"
"""The folder to which `wanlab reproduce run` writes results, too."""
MAX_PROGRESS_LENGTH = 200


class GalleryRuns:
    """Lists figures and runs them. `push` sends to all browsers."""

    def __init__(
        self, folder: WorkingFolder, push: Callable[[Push], None], rules: ClassRules
    ) -> None:
        self._folder = folder
        self._push = push
        self._rules = rules
        self._job: BackgroundJob | None = None
        self._running = ""
        self._progress = ""
        self._tasks = RunningTasks()

    def snapshot(self) -> Gallery:
        """Return all figures with what was measured of them in the working folder.

        It reads many files, so call it in a thread.
        """
        return Gallery(tuple(map(self._figure, _units())), self._running, self._progress)

    def _figure(self, unit: GalleryUnit) -> GalleryFigure:
        from wanlab.gallery.judgement import judge

        source = unit.sources[0]
        described = GalleryFigure(
            name=unit.name,
            title=unit.title,
            source=f"{source.venue_and_year}, {source.figure}",
            link=source.link,
            page=unit.page,
            predictions=tuple(map(_prediction, unit.predictions)),
        )
        measurement = self._measurement(unit)
        if measurement is None:
            return described
        judgement = judge(unit, measurement)
        figure = f"{RESULTS}/{unit.name}.svg"
        return structs.replace(
            described,
            predictions=tuple(map(_judged_prediction, judgement.predictions)),
            verdict=judgement.verdict.removesuffix(" because"),
            causes=judgement.causes,
            runs=measurement.runs,
            seeds=measurement.seeds,
            figure=figure if self._folder.shared.has_file(figure) else "",
        )

    def _measurement(self, unit: GalleryUnit) -> MeasuredFigure | None:
        from wanlab.gallery import pages

        # A measurement of another version of wanlab may not be readable.
        with contextlib.suppress(WanlabError, OSError, ValueError, KeyError, TypeError):
            self._folder.shared.check(f"{RESULTS}/{unit.name}.json")
            return pages.measured_units(self._folder.path / RESULTS, [unit]).get(unit.name)
        return None

    # -- running ----------------------------------------------------------------------------------

    async def perform(self, command: GalleryCommand, by: str = "") -> None:
        """Run a figure, or stop running it."""
        if command.action == "cancel":
            self.cancel()
            return
        if self._rules.is_class:
            raise WanlabError("in a class, only the teacher can run figures")
        if self._running:
            raise WanlabError(
                f"the figure {self._running} is being run", "wait until it is ready, or cancel it"
            )
        from wanlab.gallery import measure, unit_file

        unit = unit_file.find(command.name)
        self._running, self._progress = unit.name, "starting"
        self._job = BackgroundJob(JobProgram(measure.load_figures), self._show)
        self.push()
        self._tasks.start(self._measure(unit.name, self._job))

    async def _measure(self, name: str, job: BackgroundJob) -> None:
        from wanlab.gallery.measure import figure_job

        def job_in(folder: Path) -> Job:
            return figure_job(name, Path(RESULTS), folder, self._folder.path, self._rules.choice)

        failed = await job.perform(job_in)
        self._job, self._running, self._progress = None, "", ""
        self.push()
        if failed is None:  # it was cancelled
            return
        if failed:
            what = f"the figure {name} could not be run"
            self._push(MessagePush(level="error", what=what, hint=failed))
            return
        self._push(FilesPush(paths=(f"{RESULTS}/{name}.svg",)))
        self._push(MessagePush(level="info", what=f"the figure {name} is ready"))

    def _show(self, progress: str) -> None:
        self._progress = progress[:MAX_PROGRESS_LENGTH]
        self.push()

    def push(self) -> None:
        """Send the state to all browsers."""
        self._push(GalleryPush(running=self._running, progress=self._progress))

    def cancel(self) -> None:
        """Stop running a figure; its measurements so far are cached."""
        if self._job is not None:
            self._job.cancel()


def _prediction(prediction: Prediction) -> GalleryPrediction:
    """Return a prediction without a measurement."""
    from wanlab.gallery import pages

    band = pages.band(prediction)
    return GalleryPrediction(prediction.claim, prediction.published, band, measured="", words="")


def _judged_prediction(judged: JudgedPrediction) -> GalleryPrediction:
    measured = "" if judged.measured is None else judged.measured_text
    return structs.replace(_prediction(judged.prediction), measured=measured, words=judged.words)


@functools.cache
def _units() -> tuple[GalleryUnit, ...]:
    """Return all figures. Reading them takes a second."""
    from wanlab.gallery import unit_file

    return tuple(map(unit_file.find, unit_file.names()))
