"""Runs several units, or one unit with several seeds, as jobs in parallel, the longest first.

Each job is pinned to a core if there are enough. All of them end when this program ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from wanlab import __version__
from wanlab.errors import WanlabError
from wanlab.jobs.batch import Batch, BatchTasks
from wanlab.jobs.job import EndedJob, Job, Say, read_failure
from wanlab.jobs.origin import chosen_processor
from wanlab.jobs.pool import Workers
from wanlab.jobs.progress import Listener
from wanlab.jobs.store import OTHER_RESULTS, writing_to
from wanlab.jobs.worker import JobProgram, Perform
from wanlab.machine.embedded import find_image
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import output_folder
from wanlab.temporary import TemporaryFolder

from . import catalog, distribution, run_inputs, summary, unit_file
from .durations import check_seconds, network_seconds
from .report import UnitReport, is_good
from .unit import Unit


@dataclass(frozen=True)
class SeededUnit:
    """A unit to be run with a seed."""

    name: str
    seed: int
    title: str
    """The name in progress messages, with the seed if there are several seeds."""


@dataclass(frozen=True)
class UnitOutcome:
    """The result of a unit's run. Its status is 0, or 1 if the run failed or its report is not good."""

    name: str
    seed: int
    status: int
    report: UnitReport | None
    error: str
    folder: str
    """Its name, in the folder of results."""
    real_s: float = 0.0
    """How long the run took when it was performed; 0 if that is unknown."""


def run_units(
    names: Sequence[str],
    *,
    jobs: int,
    seeds: Sequence[int] | None,
    clock: str,
    results: Path,
    resumes: bool,
    listener: Listener | None = None,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> list[UnitOutcome]:
    """Run units with each of the seeds; return the outcomes in the order of names and seeds.

    Without seeds, each unit runs with its default seed. With `resumes`, finished runs with equal
    inputs are not repeated.
    """
    tasks = [
        SeededUnit(name, seed, f"{name} (seed {seed})" if seeds and len(seeds) > 1 else name)
        for name in names
        for seed in seeds or [catalog.find(name).seed]
    ]
    with TemporaryFolder("series") as folder:
        runs = _UnitRuns(clock, results, folder, start_jitter_ns, choice)
        batch = Batch(runs, len(tasks), listener)
        known = [task for task in tasks if resumes and runs.find(task)]
        batch.count(finished=len(known), cached=len(known))
        waiting = [task for task in tasks if task not in known]
        count = max(1, min(jobs, len(waiting)))
        is_pinned = 1 < count <= len(os.sched_getaffinity(0))
        with closing(Workers(JobProgram(load_units), count, is_pinned=is_pinned)) as pool:
            batch.perform(waiting, pool)
    return [runs.outcomes[task] for task in tasks]


def unit_job(
    task: SeededUnit,
    clock: str,
    results: Path,
    folder: Path,
    working_folder: Path,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> Job:
    """Return the job that runs a unit, for workers with `load_units`.

    `results` is relative to the working folder.
    """
    subject = {"unit": task.name, "seed": task.seed}
    options = {
        "clock": clock,
        "results": str(results),
        "start_jitter_ns": start_jitter_ns,
        "machine": asdict(choice),
    }
    return Job(task.title, subject, folder, options, working_folder=working_folder)


def load_units(data: bytes, folder: Path) -> Perform:
    """Load what runs units, in a worker."""
    from .unit_run import run_unit

    def perform(job: Job, say: Say) -> None:
        unit, seed = catalog.find(job.subject["unit"]), job.subject["seed"]
        run_unit(
            unit,
            seed=seed,
            clock=job.options["clock"],
            results=Path(job.options["results"]),
            say=say,
            start_jitter_ns=job.options["start_jitter_ns"],
            choice=MachineChoice(**job.options["machine"]),
        )

    return perform


class _UnitRuns(BatchTasks[SeededUnit]):
    """The runs of a series, and their outcomes."""

    def __init__(
        self,
        clock: str,
        results: Path,
        folder: Path,
        start_jitter_ns: int,
        choice: MachineChoice,
    ) -> None:
        self.outcomes: dict[SeededUnit, UnitOutcome] = {}
        self._clock = clock
        self._results = results
        self._folder = folder
        self._start_jitter_ns = start_jitter_ns
        self._choice = choice

    def find(self, task: SeededUnit) -> bool:
        """Note the outcome of a finished run with equal inputs; return whether there is one."""
        unit = catalog.find(task.name)
        report = run_inputs.finished_run(
            self._results,
            unit,
            seed=task.seed,
            clock=self._clock,
            start_jitter_ns=self._start_jitter_ns,
            choice=self._choice,
        )
        if report is not None:
            self._note(task, report)
        return report is not None

    def expected_s(self, task: SeededUnit) -> float:
        return expected_s(catalog.find(task.name))

    def job(self, task: SeededUnit) -> Job:
        folder = self._folder / f"{task.name}-{task.seed}"
        return unit_job(
            task,
            self._clock,
            self._results,
            folder,
            Path.cwd(),
            self._start_jitter_ns,
            self._choice,
        )

    def keep(self, task: SeededUnit, ended: EndedJob) -> str | None:
        folder = output_folder(self._run_folder(task))
        try:
            report: UnitReport = json.loads(folder.read("report.json"))
        except (OSError, ValueError):
            return None
        self._note(task, report)
        status = self.outcomes[task].status
        return f"{task.title} ended with status {status} after {ended.real_s:.0f} s"

    def keep_failure(self, task: SeededUnit, ended: EndedJob) -> str:
        failure = read_failure(ended.job.folder)
        reason = failure.reason if failure else "the reason is unknown"
        self.outcomes[task] = UnitOutcome(
            task.name, task.seed, 1, None, reason, self._run_folder(task).name
        )
        return f"{task.title} failed: {reason}"

    def _note(self, task: SeededUnit, report: UnitReport) -> None:
        status, folder = 0 if is_good(report) else 1, self._run_folder(task)
        real_s = run_inputs.read_real_s(folder) or 0.0
        self.outcomes[task] = UnitOutcome(
            task.name, task.seed, status, report, "", folder.name, real_s
        )

    def _run_folder(self, task: SeededUnit) -> Path:
        return self._results / catalog.find(task.name).run_name(task.seed)


def expected_s(unit: Unit) -> float:
    """Estimate the network time of a unit, in seconds, from the durations in its commands."""
    solutions = sorted(unit.folder.glob("solution*.yaml"))[:1]
    works = [unit.steps, *(unit_file.read_work(file, unit.values).steps for file in solutions)]
    return sum(network_seconds(unit, steps) for steps in works) + check_seconds(unit)


def distribution_of(
    names: Sequence[str],
    *,
    seeds: Sequence[int],
    clock: str,
    results: Path,
    jobs: int,
    listener: Listener | None = None,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> tuple[distribution.UnitDistribution, Path]:
    """Run one unit with many seeds; return the distribution of each number, and its file.

    Finished runs are not repeated.
    """
    if len(names) != 1 or names[0] == catalog.ALL:
        raise WanlabError(
            "--seeds works with a single unit only", "run the units one after another"
        )
    unit = catalog.find(names[0])
    ended = run_units(
        names,
        jobs=jobs,
        seeds=seeds,
        clock=clock,
        results=results,
        resumes=True,
        listener=listener,
        start_jitter_ns=start_jitter_ns,
        choice=choice,
    )
    numbers = distribution.UnitDistribution(
        unit=unit.name,
        seeds=tuple(seeds),
        failed={str(run.seed): run.error for run in ended if run.report is None},
        wanlab=__version__,
        kernel=find_image(choice.kernel).release,
        numbers=distribution.distributions([run.report for run in ended if run.report]),
    )
    return numbers, results / f"{unit.run_name(seeds[0])}-to-{seeds[-1]}.json"


def with_processor(choice: MachineChoice) -> str:
    """Return ", processor NAME" if there is one."""
    cpu = chosen_processor(choice.cpu)
    return "" if cpu is None else f", processor {cpu.model}"


def write_summary(
    rows: Sequence[summary.SummaryRow],
    folder: Path,
    *,
    seed: int | None,
    clock: str,
    choice: MachineChoice = NO_CHOICE,
) -> Path:
    """Write course.json and .html next to the units' reports; return the path of the page.

    If one seed was chosen for all units, the names contain it: course-seed2.html. Raises
    RequirementError if the folder cannot be written.
    """
    about: dict[str, object] = {"seed": seed, "clock": clock}
    if (cpu := chosen_processor(choice.cpu)) is not None:
        about["cpu"] = cpu.model
    document = {**about, "units": rows, "together": summary.totals(rows)}
    path = folder / ("course.html" if seed is None else f"course-seed{seed}.html")
    chosen = "" if seed is None else f"seed {seed}, "
    heading = f"The course, {chosen}{clock} clock{with_processor(choice)}: {len(rows)} units"
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    with writing_to(folder, OTHER_RESULTS):
        results = output_folder(folder)
        results.write(path.with_suffix(".json").name, text.encode())
        results.write(path.name, summary.page(rows, heading).encode())
    return path
