"""A sweep: an experiment performed for all points and seeds of a design.

    results = Sweep(experiment, design, output="results/buffers").run()

Runs that are in the folder already are kept. Runs that are in the cache are copied. All others are
performed by the workers of this computer or of a cluster. The table does not depend on where and in
which order the runs were performed: it contains no real times, and its rows follow the design.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from wanlab.errors import WanlabError
from wanlab.record.file import is_complete
from wanlab.run.definition import KERNEL, Definition
from wanlab.run.design import Design, Parameters
from wanlab.run.key import Origin, key_of, origin_of
from wanlab.run.result import RECORD, Task, remove_written_files, write_failure
from wanlab.run.worker import Job, refuse_in_worker

from .cache import Cache
from .display import live_listener, sweep_html
from .folder import SweepFolder, writing_to
from .progress import Listener, SweepProgress
from .results import Results, results_in
from .sentence import completed
from .table import write_table
from .workers import EndedJob, Workers

TICK_S = 0.5
FULL_DISK_BYTES = 1 << 20
MAX_ATTEMPTS = 3
"""The number of attempts if workers are lost; after that, the run itself counts as failed."""


class Performers(Protocol):
    """The interface between a sweep and its workers, on this computer or in a cluster."""

    note: str

    @property
    def count(self) -> int: ...

    @property
    def running(self) -> Sequence[Job]: ...

    def can_start(self) -> bool: ...

    def start(self, job: Job) -> None: ...

    def wait(self, real_s: float) -> list[EndedJob]: ...

    def close(self) -> None: ...


class Sweep:
    """The runs of an experiment for a design. Making a `Sweep` performs nothing; `run` does."""

    def __init__(
        self,
        experiment: Definition,
        design: Design | None = None,
        *,
        output: str | Path | None = None,
    ) -> None:
        self.experiment = experiment
        self.design = design or experiment.design
        self.folder = SweepFolder(Path(output or Path("results") / experiment.name).absolute())
        runs = [(experiment.resolve(point), seed) for point, seed in self.design.runs()]
        if not runs:
            raise WanlabError(f"the design of {experiment.name} has no runs", "give it points")
        names = tuple(dict.fromkeys([*experiment.parameters, KERNEL]))
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
        origin = origin_of(self.experiment, parameters)
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
        progress: Listener | None = None,
    ) -> Results:
        """Perform the runs that are not done yet, and return all results and failures.

        `jobs`: how many runs at once, by default one per CPU; `scheduler`: the address or file of a Dask
        scheduler; `limit_s`: how much real time a run may take; `progress` is called whenever something
        has changed. Failed runs are not repeated, unless `retry_failed`.
        """
        refuse_in_worker()
        with self.folder.locked():
            listener = progress or live_listener()
            work = _Work(self, Cache() if uses_cache else None, limit_s, listener)
            self.folder.write_index(
                self.experiment.name,
                self.experiment.about,
                self.tasks,
                self.experiment.source,
                self.plots,
                self.experiment.labels,
            )
            work.collect_known_runs(retry_failed)
            if work.waiting:
                with self._performers(jobs, scheduler) as performers:
                    work.perform(performers, is_remote=bool(scheduler))
            results = self.results()
            with writing_to(self.folder.path):
                write_table(results.table, self.folder.path)
        if work.cache is not None:
            work.cache.trim()
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
    def _performers(self, jobs: int | None, scheduler: str) -> Iterator[Performers]:
        performers: Performers
        if scheduler:
            from .cluster import Cluster

            performers = Cluster(scheduler, self.experiment.source, jobs)
        else:
            performers = Workers(self.experiment.source, jobs)
        try:
            yield performers
        finally:
            performers.close()


@dataclass
class _Work:
    """The state of a sweep while it is performed."""

    sweep: Sweep
    cache: Cache | None
    limit_s: float | None
    listener: Listener | None
    waiting: deque[Task] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._attempts: dict[str, int] = {}
        self._durations_s: list[float] = []
        self._state = SweepProgress(len(self.sweep.tasks))

    def collect_known_runs(self, retry_failed: bool) -> None:
        """Count the runs that the folder or the cache has; the others wait to be performed."""
        folder = self.sweep.folder
        for task in self.sweep.tasks:
            result = folder.result(task)
            if result and not is_complete(result.folder / RECORD):
                self._notify(None, f"the record of {task.title()} is damaged; performing it again")
                result = None
            if result:
                self._count(task, finished=1, cached=1)
            elif folder.failure(task) and not retry_failed:
                self._count(task, failed=1)
            elif self.cache and (known := self.cache.find(task.key)):
                folder.copy_from_cache(task, known)
                self._count(task, finished=1, cached=1)
            else:
                folder.clear(task)
                self.waiting.append(task)
        self._notify(None)

    def perform(self, performers: Performers, *, is_remote: bool) -> None:
        """Perform the runs that wait, as many at once as the performers can take."""
        while self.waiting or performers.running:
            while self.waiting and performers.can_start():
                task = self.waiting.popleft()
                performers.start(self._job(task, is_remote))
            for ended in performers.wait(TICK_S):
                self._handle_end(ended, performers)
            self._notify(performers)

    def _job(self, task: Task, is_remote: bool) -> Job:
        return Job(
            task=task,
            folder=self.sweep.folder.attempt_folder(task),
            final=self.sweep.folder.result_folder(task),
            origin=self.sweep.origin(task),
            limit_s=self.limit_s,
            is_checked=is_remote,
        )

    def _handle_end(self, ended: EndedJob, performers: Performers) -> None:
        task, folder = self._named(ended.job.task), self.sweep.folder
        if ended.status == "finished" and (result := folder.result(task)):
            if self.cache:
                self.cache.put(result)
            self._durations_s.append(ended.real_s)
            self._count(task, finished=1)
            return
        attempts = self._attempts[task.key] = self._attempts.get(task.key, 0) + 1
        if ended.status in ("lost", "killed", "finished") and attempts < MAX_ATTEMPTS:
            self.waiting.appendleft(task)
            self._notify(performers, f"{task.title()}: its process was lost; starting it again")
            return
        if ended.status != "failed":
            what = f"its process was lost {attempts} times"
            remove_written_files(ended.job.folder)
            with suppress(OSError):  # no space; keep_failure tries again
                write_failure(ended.job.folder, task, what, "does the computer have enough memory?")
        # Before the attempt's files are removed: they may be what has filled the disk.
        unless_known = _unknown_reason(folder.path)
        failure = folder.keep_failure(task, ended.job.folder, unless_known)
        self._count(task, failed=1)
        reason = failure.what.splitlines()[0] if failure else unless_known
        self._notify(performers, f"{task.title()} failed: {reason}")

    def _named(self, task: Task) -> Task:
        """Return the task with the varied parameters for its title, which are not part of a job."""
        return replace(task, varied=self.sweep.varied)

    # -- progress ---------------------------------------------------------------------------------

    def _count(self, task: Task, *, finished: int = 0, cached: int = 0, failed: int = 0) -> None:
        state = self._state
        self._state = replace(
            state,
            finished=state.finished + finished,
            cached=state.cached + cached,
            failed=state.failed + failed,
        )

    def _notify(self, performers: Performers | None, event: str = "") -> None:
        if self.listener is None:
            return
        running = performers.running if performers else []
        self.listener(
            replace(
                self._state,
                running=tuple(self._named(job.task).title() for job in running),
                real_s=time.monotonic() - self._began,
                left_s=self._left_s(performers),
                note=performers.note if performers else "",
                event=event,
            )
        )

    def _left_s(self, performers: Performers | None) -> float | None:
        if performers is None or not self._durations_s:
            return None
        mean_s = sum(self._durations_s) / len(self._durations_s)
        left = len(self.waiting) + len(performers.running) / 2
        return (
            mean_s
            * left
            / max(1, min(performers.count, len(self.waiting) + len(performers.running)))
        )


def _unknown_reason(folder: Path) -> str:
    """Return the reason for which a run that could not write its failure may have failed."""
    free = shutil.disk_usage(folder).free
    if free < FULL_DISK_BYTES:
        return f"there is no space left in {folder}; free some, and repeat it with --retry-failed"
    return "the reason is unknown"
