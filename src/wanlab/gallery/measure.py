"""Measures a figure: performs its sweep, and keeps the measurement, its page and its figure."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.experiments import Sweep, SweepProgress
from wanlab.jobs.job import Job, Say
from wanlab.jobs.progress import Listener
from wanlab.jobs.worker import Perform
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import output_folder

from . import pages, unit_file
from .cost import UNKNOWN, Cost, read_cost, write_cost
from .measurement import MeasuredFigure, measurement_of, read_measurement
from .unit import QUICK, GalleryUnit


@dataclass(frozen=True)
class Measuring:
    """How figures are measured: where the results go, and where the runs are performed."""

    output: Path
    units: Path = unit_file.UNITS
    jobs: int | None = None
    scheduler: str = ""
    uses_cache: bool = True
    choice: MachineChoice = NO_CHOICE

    def sweep(self, unit: GalleryUnit, size: str) -> Sweep:
        """Return the sweep of a figure's quick or full design."""
        folder = self.output / "runs" / f"{unit.name}-{size}"
        return Sweep(unit.experiment, unit.design(size), output=folder, choice=self.choice)

    def measure(
        self, unit: GalleryUnit, size: str, listener: Listener | None = None
    ) -> tuple[MeasuredFigure, tuple[str, ...]]:
        """Perform a figure's sweep; keep and return what was measured.

        The second value has lines about what is missing: runs that failed, the time that it took.
        """
        path = pages.measurement_path(self.output, unit.name, size)
        sweep = self.sweep(unit, size)
        began_s, cpu_began_s = time.monotonic(), _processor_s()
        cached = 0

        def listen(state: SweepProgress) -> None:
            nonlocal cached
            cached = state.cached
            if listener is not None:
                listener(state)

        results = sweep.run(
            jobs=self.jobs,
            uses_cache=self.uses_cache,
            retry_failed=True,
            scheduler=self.scheduler,
            progress=listen,
        )
        lines = [
            f"failed: {failure.title(results.varied)}: {failure}" for failure in results.failures
        ]
        measured = measurement_of(unit.name, size, results, seeds=sweep.design.repeats)
        if cached:
            cost = _earlier_cost(measured, path)
            lines += _lines_about_time(
                measured, cost, cached, self.output / "runs" / sweep.folder.path.name
            )
        else:
            processor_s = None if self.scheduler else _processor_s() - cpu_began_s
            cost = Cost(time.monotonic() - began_s, processor_s)
        output_folder(path.parent).write(path.name, measured.to_json().encode())
        write_cost(path, cost)
        if results.results:
            pages.write_pages(self.output, [unit_file.find(unit.name, self.units)], index=False)
        return measured, tuple(lines)


def figure_job(
    name: str,
    output: Path,
    folder: Path,
    working_folder: Path,
    choice: MachineChoice = NO_CHOICE,
) -> Job:
    """Return the job that measures a figure of the gallery, for workers with `load_figures`."""
    options = {"output": str(output), "machine": asdict(choice)}
    return Job(name, {"figure": name}, folder, options, working_folder=working_folder)


def load_figures(data: bytes, folder: Path) -> Perform:
    """Load what measures figures, in a worker."""

    def perform(job: Job, say: Say) -> None:
        unit = unit_file.find(job.subject["figure"])
        measuring = Measuring(
            Path(job.options["output"]), choice=MachineChoice(**job.options["machine"])
        )
        measured, lines = measuring.measure(unit, QUICK, lambda state: say(state.text()))
        if measured.failed:
            raise WanlabError("\n".join(lines))

    return perform


def _earlier_cost(measured: MeasuredFigure, path: Path) -> Cost:
    """Return how long the same measurement took when it was performed, if it is in `path`."""
    with suppress(WanlabError):
        if read_measurement(path).points == measured.points:
            return read_cost(path)
    return UNKNOWN


def _lines_about_time(
    measured: MeasuredFigure, cost: Cost, cached: int, runs: Path
) -> Iterator[str]:
    if cost.real_s is None:
        yield (
            f"{measured.unit}: {cached} of {measured.runs} runs were performed earlier, so the index"
            f" gives no time (to measure it, delete {runs} and use --no-cache)"
        )


def _processor_s() -> float:
    """Return the processor time of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
