"""A sweep: an experiment performed for all points and seeds of a design, and what came of it.

    results = Sweep(experiment, design, output="results/buffers").run()
    results.table                                    a row per run, in the design's order
    results.figure("lines goodput over buffer")

For each run, in this order: it is done already (in the folder), it is known (in the cache), or it is
performed, by the workers of this computer or of a cluster. Whoever does it, and in which order, the
table is the same to the byte: it holds no times of the computer's, and its rows follow the design.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from wanlab.errors import WanlabError
from wanlab.record import Table

from .cache import Cache
from .definition import Experiment
from .design import Design
from .display import live_listener
from .folder import SweepFolder, writing_to
from .origin import key_of, origin_of
from .result import Failure, Result, Task, write_failure
from .sentence import completed
from .table import table_of, write_table
from .worker import Job, refuse_in_worker
from .workers import Ended, Workers

TICK_S = 0.5
MOST_ATTEMPTS = 3
"""Of a run whose worker was lost: the third time it is the run's own doing."""


class Performers(Protocol):
    """Who performs runs: the workers of this computer, or of a cluster."""

    note: str

    @property
    def count(self) -> int: ...

    @property
    def running(self) -> Sequence[Job]: ...

    def can_start(self) -> bool: ...

    def start(self, job: Job) -> None: ...

    def wait(self, real_s: float) -> list[Ended]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is."""

    total: int
    finished: int = 0
    """All that are done, those that were done before among them."""
    cached: int = 0
    """Of them: not performed now, but found in the folder or the cache."""
    failed: int = 0
    running: tuple[str, ...] = ()
    real_s: float = 0.0
    left_s: float | None = None
    """Until the end, if it goes on so; None before the first run has ended."""
    note: str = ""
    """Why it goes slower than it could."""
    event: str = ""
    """What has just happened, in a line; most times nothing."""


Listener = Callable[[SweepProgress], None]


@dataclass(frozen=True)
class Results:
    """What came of a sweep. Results and failures are in the design's order."""

    folder: Path
    experiment: str
    about: str
    varied: tuple[str, ...]
    """Parameters that have several values in it."""
    plots: tuple[str, ...]
    results: tuple[Result, ...]
    failures: tuple[Failure, ...] = ()
    missing: int = 0
    """Runs that have not been performed yet."""

    @cached_property
    def table(self) -> Table:
        """A row per run that ended well: parameters, seed, metrics with their units."""
        return table_of(self.results)

    def figure(self, sentence: str) -> Any:
        """ "lines goodput over buffer by algorithm": see `charts`. For `plot.save`."""
        from .charts import draw

        return draw(sentence, self)

    def undrawn(self) -> tuple[str, ...]:
        """Why figures that the experiment asks for cannot be drawn."""
        from .charts import undrawn

        return tuple(undrawn(self))

    def report(self) -> Path:
        """Writes figures and a page with all that is known; returns the page's path."""
        from .report import write_report

        return write_report(self)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from .display import results_html

        return results_html(self)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)


def read_results(folder: str | Path) -> Results:
    """What is in the folder of a sweep, finished or not."""
    place = SweepFolder(Path(folder))
    said = place.read_index()
    varied = tuple(said["varied"])
    tasks = [Task(run["parameters"], run["seed"], run["key"], varied) for run in said["runs"]]
    return _results(place, said["experiment"], said["about"], tasks, tuple(said["plots"]))


class Sweep:
    """What is to be performed. Making one performs nothing."""

    def __init__(
        self,
        experiment: Experiment,
        design: Design | None = None,
        *,
        output: str | Path | None = None,
    ) -> None:
        self.experiment = experiment
        self.design = design or experiment.design
        self.folder = SweepFolder(Path(output or Path("results") / experiment.name).absolute())
        chosen = [(experiment.resolve(point), seed) for point, seed in self.design.runs()]
        if not chosen:
            raise WanlabError(f"the design of {experiment.name} has no runs", "give it points")
        self.varied = tuple(
            name
            for name in experiment.parameters
            if len({repr(parameters[name]) for parameters, _ in chosen}) > 1
        )
        self.plots = tuple(  # a wrong one is told now, and not after the last run
            completed(sentence, experiment.name, experiment.parameters, self.varied)
            for sentence in experiment.plots
        )
        self._origins: dict[str, Mapping[str, Any]] = {}
        self.tasks = tuple(self._task(parameters, seed) for parameters, seed in chosen)

    def _task(self, parameters: Mapping[str, Any], seed: int) -> Task:
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
        """Performs what is not done. Failed runs are left out of what it returns, with their reasons."""
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
            )
            work.take_what_is_there(retry_failed)
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
        """What is done by now."""
        return _results(
            self.folder,
            self.experiment.name,
            self.experiment.about,
            self.tasks,
            self.plots,
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        from .display import sweep_html

        return sweep_html(self)

    def origin(self, task: Task) -> Mapping[str, Any]:
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


def _results(
    place: SweepFolder, name: str, about: str, tasks: Sequence[Task], plots: tuple[str, ...]
) -> Results:
    found = [place.result(task) for task in tasks]
    failures = [
        failure
        for task, result in zip(tasks, found, strict=True)
        if result is None and (failure := place.failure(task))
    ]
    results = tuple(result for result in found if result is not None)
    return Results(
        folder=place.path,
        experiment=name,
        about=about,
        varied=tasks[0].varied if tasks else (),
        plots=plots,
        results=results,
        failures=tuple(failures),
        missing=len(tasks) - len(results) - len(failures),
    )


@dataclass
class _Work:
    """A sweep at work."""

    sweep: Sweep
    cache: Cache | None
    limit_s: float | None
    listener: Listener | None
    waiting: deque[Task] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._attempts: dict[str, int] = {}
        self._took_s: list[float] = []
        self._state = SweepProgress(len(self.sweep.tasks))

    def take_what_is_there(self, retry_failed: bool) -> None:
        folder = self.sweep.folder
        for task in self.sweep.tasks:
            if folder.result(task):
                self._count(task, finished=1, cached=1)
            elif folder.failure(task) and not retry_failed:
                self._count(task, failed=1)
            elif self.cache and (known := self.cache.find(task.key)):
                folder.take_from_cache(task, known)
                self._count(task, finished=1, cached=1)
            else:
                folder.clear(task)
                self.waiting.append(task)
        self._tell(None)

    def perform(self, performers: Performers, *, is_remote: bool) -> None:
        while self.waiting or performers.running:
            while self.waiting and performers.can_start():
                task = self.waiting.popleft()
                performers.start(self._job(task, is_remote))
            for ended in performers.wait(TICK_S):
                self._take(ended, performers)
            self._tell(performers)

    def _job(self, task: Task, is_remote: bool) -> Job:
        return Job(
            task=task,
            folder=self.sweep.folder.new_place(task),
            final=self.sweep.folder.place_of(task),
            origin=self.sweep.origin(task),
            limit_s=self.limit_s,
            is_checked=is_remote,
        )

    def _take(self, ended: Ended, performers: Performers) -> None:
        task, folder = self._known(ended.job.task), self.sweep.folder
        if ended.status == "finished" and (result := folder.result(task)):
            if self.cache:
                self.cache.put(result)
            self._took_s.append(ended.real_s)
            self._count(task, finished=1)
            return
        attempts = self._attempts[task.key] = self._attempts.get(task.key, 0) + 1
        if ended.status in ("lost", "killed", "finished") and attempts < MOST_ATTEMPTS:
            self.waiting.appendleft(task)
            self._tell(performers, f"{task.title()}: its process was lost; it is begun anew")
            return
        if ended.status != "failed":
            what = f"its process was lost {attempts} times"
            write_failure(ended.job.folder, task, what, "is there enough memory?")
        failure = folder.note_failure(task, ended.job.folder)
        self._count(task, failed=1)
        why = failure.what.splitlines()[0] if failure else "no reason is known"
        self._tell(performers, f"{task.title()} failed: {why}")

    def _known(self, task: Task) -> Task:
        """The task with its name, which did not travel."""
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

    def _tell(self, performers: Performers | None, event: str = "") -> None:
        if self.listener is None:
            return
        running = performers.running if performers else []
        self.listener(
            replace(
                self._state,
                running=tuple(self._known(job.task).title() for job in running),
                real_s=time.monotonic() - self._began,
                left_s=self._left_s(performers),
                note=performers.note if performers else "",
                event=event,
            )
        )

    def _left_s(self, performers: Performers | None) -> float | None:
        if performers is None or not self._took_s:
            return None
        mean_s = sum(self._took_s) / len(self._took_s)
        left = len(self.waiting) + len(performers.running) / 2
        return (
            mean_s
            * left
            / max(1, min(performers.count, len(self.waiting) + len(performers.running)))
        )
