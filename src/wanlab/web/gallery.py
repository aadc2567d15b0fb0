"""The gallery in the browser: published figures are run in a separate process, one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import structs

from wanlab.errors import WanlabError, reason_of
from wanlab.labs import unit_process

from .commands import GalleryCommand
from .folder import WorkingFolder
from .gallery_protocol import Gallery, GalleryFigure, GalleryPrediction, GalleryPush
from .limits import ClassRules
from .protocol import FilesPush, MessagePush
from .push import Push
from .running_tasks import RunningTasks

if TYPE_CHECKING:
    from wanlab.gallery.judgement import JudgedPrediction
    from wanlab.gallery.measurement import MeasuredFigure
    from wanlab.gallery.unit import GalleryUnit, Prediction

RESULTS = "results/gallery"
"""The folder to which `wanlab reproduce run` writes results, too."""
LAST_LINES = 5


class GalleryRuns:
    """Lists figures and runs them. `push` sends to all browsers."""

    def __init__(
        self, folder: WorkingFolder, push: Callable[[Push], None], rules: ClassRules
    ) -> None:
        self._folder = folder
        self._push = push
        self._rules = rules
        self._process: asyncio.subprocess.Process | None = None
        self._running = ""
        self._progress = ""
        self._is_cancelled = False
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
        figure = self._folder.path / RESULTS / f"{unit.name}.svg"
        return structs.replace(
            described,
            predictions=tuple(map(_judged_prediction, judgement.predictions)),
            verdict=judgement.verdict.removesuffix(" because"),
            causes=judgement.causes,
            runs=measurement.runs,
            seeds=measurement.seeds,
            figure=self._folder.path_of(figure) if figure.is_file() else "",
        )

    def _measurement(self, unit: GalleryUnit) -> MeasuredFigure | None:
        from wanlab.gallery import pages

        # A measurement of another version of wanlab may not be readable.
        with contextlib.suppress(WanlabError, OSError, ValueError, KeyError, TypeError):
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
        from wanlab.gallery import unit_file

        unit = unit_file.find(command.name)
        self._running, self._progress, self._is_cancelled = unit.name, "starting", False
        self.push()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "wanlab.cli", "reproduce", "run", unit.name),
                *("--output", RESULTS),
                cwd=self._folder.path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                preexec_fn=unit_process.end_with_parent,
            )
        except OSError as error:
            self._end()
            raise WanlabError(f"cannot run {unit.name}: {reason_of(error)}") from None
        self._tasks.start(self._follow(unit.name, self._process))

    async def _follow(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        lines: list[str] = []
        async for line in process.stdout:
            lines = [*lines[1 - LAST_LINES :], line.decode(errors="replace").rstrip()]
            self._progress = lines[-1][:200]
            self.push()
        status = await process.wait()
        self._end()
        if self._is_cancelled:
            return
        if status:
            what = f"the figure {name} could not be run"
            self._push(MessagePush(level="error", what=what, hint="\n".join(lines)))
            return
        self._push(FilesPush(paths=(f"{RESULTS}/{name}.svg",)))
        self._push(MessagePush(level="info", what=f"the figure {name} is ready"))

    def _end(self) -> None:
        self._process, self._running, self._progress = None, "", ""
        self.push()

    def push(self) -> None:
        """Send the state to all browsers."""
        self._push(GalleryPush(running=self._running, progress=self._progress))

    def cancel(self) -> None:
        """Stop running a figure; its measurements so far are cached."""
        if self._process is not None:
            self._is_cancelled = True
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()


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
