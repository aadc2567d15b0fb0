"""Performs many tasks on a pool: the longest first, lost ones again, with news for one listener."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from .job import FINISHED, KILLED, LOST, EndedJob, Job, remove_written_files, write_failure
from .pool import Pool, Workers
from .progress import BatchProgress, Listener
from .worker import JobProgram

TICK_S = 0.5
MAX_ATTEMPTS = 3
"""The number of attempts if workers are lost; after that, the job itself counts as failed."""
MEMORY_HINT = "does the computer have enough memory?"
Task = TypeVar("Task")


class BatchTasks(ABC, Generic[Task]):
    """What a batch needs to know of its tasks. A subclass keeps their results."""

    max_attempts = MAX_ATTEMPTS

    def expected_s(self, task: Task) -> float:
        """Estimate how long a task takes, compared with the others."""
        return 0.0

    @abstractmethod
    def job(self, task: Task) -> Job | str:
        """Return the job of a task, or the reason why it has failed already."""

    @abstractmethod
    def keep(self, task: Task, ended: EndedJob) -> str | None:
        """Keep the result of a job that has finished.

        Returns a line about it, which may be empty. None: the job left no result and is performed again.
        """

    @abstractmethod
    def keep_failure(self, task: Task, ended: EndedJob) -> str:
        """Keep the failure of a job; return a line about it."""


class Batch(Generic[Task]):
    """Tasks that are performed together, and their progress."""

    def __init__(
        self, tasks: BatchTasks[Task], total: int, listener: Listener | None = None
    ) -> None:
        self._tasks = tasks
        self._listener = listener
        self._began = time.monotonic()
        self._attempts = Counter[str]()  # by the titles of jobs
        self._durations_s: list[float] = []
        self._state = BatchProgress(total)

    def count(self, *, finished: int = 0, cached: int = 0, failed: int = 0) -> None:
        """Count tasks that are over."""
        state = self._state
        self._state = replace(
            state,
            finished=state.finished + finished,
            cached=state.cached + cached,
            failed=state.failed + failed,
        )

    def perform(self, tasks: Iterable[Task], pool: Pool) -> None:
        """Perform tasks, as many at once as the pool can take."""
        waiting = deque(sorted(tasks, key=self._tasks.expected_s, reverse=True))
        running: dict[Path, Task] = {}
        while waiting or running:
            before = len(running)
            for task, job in self._startable(waiting, pool):
                running[job.folder] = task
                pool.start(job)
            if len(running) > before:
                self.tell("", pool, len(waiting))
            for ended in pool.wait(TICK_S) if running else ():
                task = running.pop(ended.job.folder)
                event = self._end(task, ended)
                if event is None:
                    waiting.appendleft(task)
                    event = f"{ended.job.title}: its process was lost; starting it again"
                self.tell(event, pool, len(waiting))
            self.tell("", pool, len(waiting))

    def _startable(self, waiting: deque[Task], pool: Pool) -> Iterator[tuple[Task, Job]]:
        """Yield tasks with their jobs while the pool can take them."""
        while waiting and pool.can_start():
            task = waiting.popleft()
            job = self._tasks.job(task)
            if isinstance(job, Job):
                yield task, job
            else:
                self.count(failed=1)
                self.tell(job, pool, len(waiting))

    def _end(self, task: Task, ended: EndedJob) -> str | None:
        """Keep what a job has given; return a line about it, or None to perform it again."""
        if ended.status == FINISHED and (event := self._tasks.keep(task, ended)) is not None:
            self._durations_s.append(ended.real_s)
            self.count(finished=1)
            return event
        if ended.status in (LOST, KILLED, FINISHED):
            title = ended.job.title
            self._attempts[title] += 1
            if self._attempts[title] < self._tasks.max_attempts:
                return None
            remove_written_files(ended.job.folder)
            times = f" {self._attempts[title]} times" if self._attempts[title] > 1 else ""
            with suppress(OSError):  # no space; whoever keeps the failure tries again
                what = f"its process was lost{times}"
                write_failure(ended.job.folder, ended.job.subject, what, MEMORY_HINT)
        event = self._tasks.keep_failure(task, ended)
        self.count(failed=1)
        return event

    def tell(self, event: str = "", pool: Pool | None = None, waiting: int = 0) -> None:
        """Report the progress to the listener."""
        if self._listener is None:
            return
        running = pool.running if pool else ()
        self._listener(
            replace(
                self._state,
                running=tuple(job.title for job in running),
                says=tuple(job.said for job in running),
                real_s=time.monotonic() - self._began,
                left_s=self._left_s(pool, waiting),
                note=pool.note if pool else "",
                event=event,
            )
        )

    def _left_s(self, pool: Pool | None, waiting: int) -> float | None:
        if pool is None or not self._durations_s:
            return None
        mean_s = sum(self._durations_s) / len(self._durations_s)
        running = len(pool.running)
        return mean_s * (waiting + running / 2) / max(1, min(pool.count, waiting + running))


def perform_one(
    program: JobProgram, job: Job, listener: Listener | None = None, *, is_pinned: bool = True
) -> EndedJob:
    """Perform a single job in a worker process, and wait for its end."""
    workers = Workers(program, 1, is_pinned=is_pinned)
    began = time.monotonic()
    try:
        workers.can_start()  # raises if there is not enough memory
        workers.start(job)
        ended: list[EndedJob] = []
        while not ended:
            if listener is not None:
                listener(
                    BatchProgress(
                        1,
                        running=tuple(running.title for running in workers.running),
                        says=tuple(running.said for running in workers.running),
                        real_s=time.monotonic() - began,
                    )
                )
            ended = workers.wait(TICK_S)
    finally:
        workers.close()
    return ended[0]
