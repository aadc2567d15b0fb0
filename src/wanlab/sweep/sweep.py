"""A sweep: an experiment performed for all points and seeds of a design.

    results = Sweep(experiment, design, output="results/buffers").run()

Runs that are in the folder already are kept. Runs that are in the cache are copied. All others are
performed by the workers of this computer or of a cluster. The table does not depend on where and in
which order the runs were performed: it contains no real times, and its rows follow the design.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.batch import Batch, BatchTasks
from wanlab.jobs.job import EndedJob, Job
from wanlab.jobs.origin import Origin, key_of
from wanlab.jobs.pool import Pool, Workers
from wanlab.jobs.progress import Listener
from wanlab.jobs.store import writing_to
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.record.file import is_complete
from wanlab.run.definition import Definition
from wanlab.run.design import Design, Parameters
from wanlab.run.key import origin_of
from wanlab.run.perform import job_of, program_of, refuse_in_worker
from wanlab.run.result import RECORD, Task
from wanlab.run.run import COMMON_PARAMETERS

from .cache import Cache
from .display import live_listener, sweep_html
from .folder import SweepFolder
from .repeated_failures import DEFAULT_LIMIT, RepeatedFailures
from .results import Results, results_in
from .sentence import completed
from .table import write_table

FULL_DISK_BYTES = 1 << 20


class Sweep:
    """The runs of an experiment for a design. Making a `Sweep` performs nothing; `run` does."""

    def __init__(
        self,
        experiment: Definition,
        design: Design | None = None,
        *,
        output: str | Path | None = None,
        choice: MachineChoice = NO_CHOICE,
    ) -> None:
        self.choice = choice
        self.experiment = experiment
        self.design = design or experiment.design
        self.folder = SweepFolder(Path(output or Path("results") / experiment.name).absolute())
        runs = [(experiment.resolve(point), seed) for point, seed in self.design.runs()]
        if not runs:
            raise WanlabError(f"the design of {experiment.name} has no runs", "give it points")
        names = tuple(dict.fromkeys([*experiment.parameters, *COMMON_PARAMETERS]))
        self.varied = tuple(
            name
            for name in names
            if len({repr(parameters.get(name)) for parameters, _ in runs}) > 1
        )
        # Checked here, so that a mistake is reported before the first run and not after the last.
        self.plots = tuple(
            completed(sentence, experiment.name, names, self.varied)
            for sentence in experiment.plots
        )
        self._origins: dict[str, Origin] = {}
        self.tasks = tuple(self._task(parameters, seed) for parameters, seed in runs)

    def _task(self, parameters: Parameters, seed: int) -> Task:
        origin = origin_of(self.experiment, parameters, self.choice.kernel)
        key = key_of(origin, seed)
        self._origins[key] = origin
        return Task(parameters, seed, key, self.varied)

    def run(
        self,
        *,
        jobs: int | None = None,
        uses_cache: bool = True,
        retry_failed: bool = False,
        scheduler: str = "",
        limit_s: float | None = None,
        stop_after: int = DEFAULT_LIMIT,
        progress: Listener | None = None,
    ) -> Results:
        """Perform the runs that are not done yet, and return all results and failures.

        `jobs`: how many runs at once, by default one per CPU; `scheduler`: the address or file of a Dask
        scheduler; `limit_s`: how much real time a run may take; `progress` is called whenever something
        has changed. Failed runs are not repeated, unless `retry_failed`. After `stop_after` failures for
        the same reason, runs with the values that they have in common are not started (0: all are).
        """
        refuse_in_worker()
        cache = Cache() if uses_cache else None
        with self.folder.locked():
            runs = _Runs(self, cache, limit_s, stop_after, is_remote=bool(scheduler))
            batch = Batch(runs, len(self.tasks), progress or live_listener())
            self.folder.write_index(
                self.experiment.name,
                self.experiment.about,
                self.tasks,
                self.experiment.source,
                self.plots,
                self.experiment.labels,
            )
            if missing := runs.collect_known(batch, retry_failed=retry_failed):
                with self._pool(jobs, scheduler) as pool:
                    batch.perform(missing, pool)
            results = replace(self.results(), skipped=runs.skipped)
            with writing_to(self.folder.path):
                write_table(results.table, self.folder.path)
        if cache is not None:
            cache.trim()
        return results

    def results(self) -> Results:
        """Return the results so far."""
        return results_in(
            self.folder,
            self.experiment.name,
            self.experiment.about,
            self.tasks,
            self.plots,
            self.experiment.labels,
        )

    def _repr_html_(self) -> str:
        """Show the plan and the progress in a notebook."""
        return sweep_html(self.results(), len(self.tasks))

    def origin(self, task: Task) -> Origin:
        return self._origins[task.key]

    @contextmanager
    def _pool(self, jobs: int | None, scheduler: str) -> Iterator[Pool]:
        program = program_of(self.experiment.source)
        pool: Pool
        if scheduler:
            from wanlab.jobs.cluster import Cluster

            pool = Cluster(scheduler, program, jobs)
        else:
            pool = Workers(program, jobs)
        try:
            yield pool
        finally:
            pool.close()


class _Runs(BatchTasks[Task]):
    """The runs of a sweep while it is performed."""

    def __init__(
        self,
        sweep: Sweep,
        cache: Cache | None,
        limit_s: float | None,
        stop_after: int,
        *,
        is_remote: bool,
    ) -> None:
        self.skipped = 0
        """The number of runs that were not started, because others with their values have failed."""
        self._failures = RepeatedFailures(stop_after)
        self.folder = sweep.folder
        self._sweep = sweep
        self._cache = cache
        self._limit_s = limit_s
        self._is_remote = is_remote

    def collect_known(self, batch: Batch[Task], *, retry_failed: bool) -> list[Task]:
        """Count the runs that the folder or the cache has; return the others."""
        missing = []
        for task in self._sweep.tasks:
            result = self.folder.result(task)
            if result and not is_complete(result.folder / RECORD):
                batch.tell(f"the record of {task.title()} is damaged; performing it again")
                result = None
            if result:
                self._failures.add_success(task)
                batch.count(finished=1, cached=1)
            elif (failure := self.folder.failure(task)) and not retry_failed:
                self._failures.add_failure(task, _first_line(failure.what))
                batch.count(failed=1)
            elif self._cache and (known := self._cache.find(task.key)):
                self.folder.copy_from_cache(task, known)
                self._failures.add_success(task)
                batch.count(finished=1, cached=1)
            else:
                self.folder.clear(task)
                missing.append(task)
        batch.tell()
        return missing

    def job(self, task: Task) -> Job | str:
        if reason := self._failures.reason_to_skip(task):
            self.skipped += 1
            return f"{task.title()} is not started: {reason}" if self.skipped == 1 else ""
        job = job_of(
            task,
            self.folder.attempt_folder(task),
            self._sweep.origin(task),
            self._sweep.choice,
            self.folder.result_folder(task),
            is_checked=self._is_remote,
        )
        return replace(job, limit_s=self._limit_s)

    def keep(self, task: Task, ended: EndedJob) -> str | None:
        result = self.folder.result(task)
        if result is not None:
            self._failures.add_success(task)
            if self._cache:
                self._cache.put(result)
        return None if result is None else ""

    def keep_failure(self, task: Task, ended: EndedJob) -> str:
        # Before the attempt's files are removed: they may be what has filled the disk.
        unless_known = _unknown_reason(self.folder.path)
        failure = self.folder.keep_failure(task, ended.job.folder, unless_known)
        reason = _first_line(failure.what) if failure else unless_known
        self._failures.add_failure(task, reason)
        return f"{task.title()} failed: {reason}"


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


def _unknown_reason(folder: Path) -> str:
    """Return the reason for which a run that could not write its failure may have failed."""
    free = shutil.disk_usage(folder).free
    if free < FULL_DISK_BYTES:
        return f"there is no space left in {folder}; free some, and repeat it with --retry-failed"
    return "the reason is unknown"
