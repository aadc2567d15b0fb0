"""`wanlab lab run` of several units: runs them in parallel processes, the longest first.

Each process has its own core if there are enough. All of them end when this program ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wanlab.errors import RequirementError
from wanlab.labs import catalog, durations, run_inputs, summary, unit_file, unit_process
from wanlab.labs.report import UnitReport, is_good
from wanlab.labs.unit import Unit
from wanlab.temporary import TemporaryFolder

from .progress import Progress

POLL_INTERVAL_S = 0.1
REPORT_INTERVAL_S = {True: 1.0, False: 30.0}
"""True: standard error is a terminal, where the line is overwritten. False: it is not."""
END_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class SeededUnit:
    """A unit to be run with a seed."""

    name: str
    seed: int
    title: str
    """The name in progress messages, with the seed if there are several seeds."""


@dataclass
class RunningUnit:
    """A unit whose process is running."""

    task: SeededUnit
    process: subprocess.Popen[bytes]
    stderr: Path
    """The file with its standard error."""
    cores: frozenset[int]
    start: float = field(default_factory=time.monotonic)
    start_time: float = field(default_factory=time.time)

    @property
    def last_line(self) -> str:
        with suppress(OSError):
            lines = self.stderr.read_text(encoding="utf-8", errors="replace").splitlines()
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""


@dataclass(frozen=True)
class UnitOutcome:
    """The result of a unit whose process has ended."""

    name: str
    seed: int
    status: int
    report: UnitReport | None
    error: str


class ParallelUnits:
    """Runs units with each of the seeds; `run` returns the outcomes in the order of names and seeds.

    Without seeds, each unit runs with its default seed. With `resumes`, finished runs with equal
    inputs are not repeated.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        jobs: int,
        seeds: Sequence[int] | None,
        clock: str,
        results: Path,
        resumes: bool = False,
    ):
        self.progress = Progress()
        self._tasks = [
            SeededUnit(name, seed, f"{name} (seed {seed})" if seeds and len(seeds) > 1 else name)
            for name in dict.fromkeys(names)
            for seed in seeds or [catalog.find(name).seed]
        ]
        self._ended = dict(finished(self._tasks, results, clock)) if resumes else {}
        expected = {name: expected_s(catalog.find(name)) for name in names}
        self._waiting = sorted(
            (task for task in self._tasks if task not in self._ended),
            key=lambda task: -expected[task.name],
        )
        self._options = ["--clock", clock, "--results", str(results)]
        self._results = results
        self._running: list[RunningUnit] = []
        cores = sorted(os.sched_getaffinity(0))
        jobs = max(1, min(jobs, len(self._waiting)))
        separate = [frozenset({core}) for core in cores[:jobs]]
        self._free_cores = separate if 1 < jobs <= len(cores) else [frozenset(cores)] * jobs
        self._last_report = 0.0

    def run(self) -> list[UnitOutcome]:
        with TemporaryFolder("series") as folder:
            try:
                while self._waiting or self._running:
                    self._start_waiting(folder)
                    time.sleep(POLL_INTERVAL_S)
                    self._check_running()
            finally:
                unit_process.end([unit.process for unit in self._running], END_TIMEOUT_S)
                self.progress.end()
        return [self._ended[task] for task in self._tasks]

    def _start_waiting(self, folder: Path) -> None:
        while self._waiting and self._free_cores:
            task, cores = self._waiting.pop(0), self._free_cores.pop(0)
            command = unit_process.command(
                task.name, "--json", "--seed", str(task.seed), *self._options
            )
            stderr = folder / f"{task.name}-{task.seed}.txt"
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, cores)  # inherited by the process
            try:
                with stderr.open("wb") as file:
                    process = unit_process.start(command, stdout=subprocess.DEVNULL, stderr=file)
            finally:
                os.sched_setaffinity(0, before)
            self._running.append(RunningUnit(task, process, stderr, cores))
            self._report(f"{task.title} started")

    def _check_running(self) -> None:
        for unit in [unit for unit in self._running if unit.process.poll() is not None]:
            self._running.remove(unit)
            self._free_cores.append(unit.cores)
            took_s = time.monotonic() - unit.start
            self._ended[unit.task] = self._outcome(unit)
            status = unit.process.returncode
            self._report(f"{unit.task.title} ended with status {status} after {took_s:.0f} s")
        now = time.monotonic()
        if (
            self._running
            and now - self._last_report >= REPORT_INTERVAL_S[self.progress.is_terminal]
        ):
            running = ", ".join(
                f"{unit.task.title} {unit.last_line if len(self._running) < 3 else ''}".strip()
                for unit in self._running
            )
            self._report(running)

    def _report(self, line: str) -> None:
        self._last_report = time.monotonic()
        self.progress.say(f"{len(self._ended)} of {len(self._tasks)} done; {line}")

    def _outcome(self, unit: RunningUnit) -> UnitOutcome:
        status = unit.process.returncode
        name, seed = unit.task.name, unit.task.seed
        folder = self._results / catalog.find(name).run_name(seed)
        # If this run wrote no report, there may still be an older one.
        with suppress(OSError, ValueError):
            path = folder / "report.json"
            if status in (0, 1) and path.stat().st_mtime >= unit.start_time:
                report = json.loads(path.read_text(encoding="utf-8"))
                return UnitOutcome(name, seed, status, report, "")
        return UnitOutcome(name, seed, status or 1, None, unit.last_line or f"status {status}")


def finished(
    tasks: Sequence[SeededUnit], results: Path, clock: str
) -> Iterator[tuple[SeededUnit, UnitOutcome]]:
    """Yield the outcomes of runs that need not be repeated."""
    for task in tasks:
        unit = catalog.find(task.name)
        report = run_inputs.finished_run(results, unit, seed=task.seed, clock=clock)
        if report is not None:
            status = 0 if is_good(report) else 1
            yield task, UnitOutcome(task.name, task.seed, status, report, "")


def expected_s(unit: Unit) -> float:
    """Estimate the network time of a unit, in seconds, from the durations in its commands."""
    steps = list(unit.steps)
    for file in sorted(unit.folder.glob("solution*.yaml"))[:1]:
        steps += unit_file.read_work(file, unit.values).steps
    lines = [line for step in steps for line in step.lines]
    lines += [flow.command for check in unit.check for flow in check.flows]
    waits_s = sum((step.for_ns or 0) / 1e9 for step in steps)
    return waits_s + sum(durations.seconds_in(line) for line in lines)


def write_summary(
    rows: Sequence[summary.SummaryRow],
    folder: Path,
    *,
    seed: int | None,
    clock: str,
    wall_s: float,
) -> Path:
    """Write course.json and .html next to the units' reports; return the path of the page.

    If one seed was chosen for all units, the names contain it: course-seed2.html. Raises
    RequirementError if the folder cannot be written.
    """
    about = {"seed": seed, "clock": clock, "wall_s": round(wall_s, 1)}
    document = {**about, "units": rows, "together": summary.totals(rows)}
    path = folder / ("course.html" if seed is None else f"course-seed{seed}.html")
    chosen = "" if seed is None else f"seed {seed}, "
    heading = f"The course, {chosen}{clock} clock: {len(rows)} units in {wall_s:.0f} s"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(document, indent=2, sort_keys=True) + "\n"
        path.with_suffix(".json").write_text(text, encoding="utf-8")
        path.write_text(summary.page(rows, heading), encoding="utf-8")
    except OSError as error:
        raise RequirementError(
            f"cannot write the summary to {folder}: {error.strerror or error}",
            "use another folder with --results",
        ) from None
    return path
