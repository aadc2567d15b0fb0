"""Where jobs are performed: the worker processes of this computer, one job at a time in each.

A machine's kernel and its processes switch at every system call, so they stay on one CPU, and two jobs
on one CPU would only take turns. Results do not depend on which worker performs which job.

**Memory.** A machine may use 2 GiB, and usually uses a tenth of that. Until the first job has ended,
each is assumed to need the maximum; after that, half more than the largest job so far. A job is started
only if this much memory remains when all running ones have reached that amount, so that the computer
never swaps.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypedDict

from wanlab.errors import WanlabError
from wanlab.network.options import BASE_MEMORY_BYTES

from .job import FINISHED, LOST, EndedJob, Job
from .memory import available_bytes
from .progress import RunningJob
from .worker import GRACE_S, JobProgram

END_REAL_S = GRACE_S + 5
READ_BYTES = 1 << 16
RESERVE_BYTES = 256 << 20
"""Memory that is left for everything else on the computer."""
MARGIN = 1.5
MIN_JOB_BYTES = 256 << 20


class WorkerMessage(TypedDict, total=False):
    """A message from a worker process; its `state` (refused, ready, said, ended) decides the rest."""

    state: str
    what: str
    hint: str
    text: str
    status: str
    real_s: float
    peak_bytes: int


class Pool(Protocol):
    """Where jobs are performed: this computer, or a cluster."""

    note: str
    """The reason why fewer jobs are performed at once than possible; otherwise ""."""

    @property
    def count(self) -> int:
        """How many jobs it performs at once at the most."""

    @property
    def running(self) -> Sequence[RunningJob]: ...

    def can_start(self) -> bool: ...

    def start(self, job: Job) -> None: ...

    def wait(self, real_s: float) -> list[EndedJob]:
        """Wait up to `real_s` for jobs to end, and return those that have ended."""

    def close(self) -> None:
        """End all jobs."""


class Worker:
    """The parent's end of a worker process."""

    def __init__(self, program: JobProgram, cpu: int | None) -> None:
        self.cpu = cpu
        self.job: Job | None = None
        self.said = ""
        self._received = b""
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",  # a job's current folder may be that of a network, with modules of its programs
                "-c",
                "import sys; from wanlab.jobs.worker import main; sys.exit(main())",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "PYTHONHASHSEED": "0",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            },
            cwd="/",
            start_new_session=True,  # so that Ctrl-C reaches only this process
        )
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `receive` reports the loss
            for part in program.parts():
                self.process.stdin.write(part)
            self.process.stdin.flush()

    @property
    def output(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def start(self, job: Job) -> None:
        """Begin a job."""
        self.job, self.said = replace(job, cpu=self.cpu), ""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `receive` reports the loss
            self.process.stdin.write(self.job.to_json().encode() + b"\n")
            self.process.stdin.flush()

    def receive(self) -> list[WorkerMessage] | None:
        """Return the messages that have arrived; None if the process has ended."""
        data = os.read(self.output, READ_BYTES)
        if not data:
            return None
        *lines, self._received = (self._received + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def used_bytes(self) -> int:
        """Return how much memory the worker's job uses."""
        if self.job is None:
            return 0
        children = _children(self.process.pid)
        machines = [pid for child in children for pid in _children(child)]
        return sum(map(_resident_bytes, [*children, *machines]))

    def close(self) -> None:
        """Ask the process to end, and its job with it."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def join(self) -> int:
        """Wait until the process has ended, or kill it; return its exit status."""
        try:
            status = self.process.wait(END_REAL_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


class Workers:
    """A pool of worker processes, by default one per CPU. They start when they are first needed.

    With `is_pinned` the pool assigns CPUs to its workers. Without it each machine claims a free CPU
    itself, for a pool that does not know what else runs on this computer.
    """

    def __init__(
        self, program: JobProgram, count: int | None = None, *, is_pinned: bool = True
    ) -> None:
        self.cpus = sorted(os.sched_getaffinity(0))
        self.count = count or len(self.cpus)
        self.note = ""
        self._program = program
        self._is_pinned = is_pinned
        self._workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()
        self._largest_bytes = 0

    @property
    def running(self) -> Sequence[RunningJob]:
        return [RunningJob(w.job.title, w.said) for w in self._workers if w.job is not None]

    def can_start(self) -> bool:
        """Whether a worker is free and there is memory for another job.

        A single job may always start: its machine checks that it has the memory it needs.
        """
        self.note = ""
        if len(self.running) >= self.count:
            return False
        if not self.running:
            return True
        missing_bytes = self._job_bytes() - self._free_bytes()
        if missing_bytes > 0:
            self.note = f"one more run needs another {missing_bytes / 1e9:.1f} GB of memory"
            return False
        return True

    def start(self, job: Job) -> None:
        """Begin a job on a free worker, or on a new one."""
        free = next((worker for worker in self._workers if worker.job is None), None)
        if free is None:
            free = Worker(self._program, self._next_cpu())
            self._workers.append(free)
            self._selector.register(free.output, selectors.EVENT_READ, free)
        free.start(job)

    def wait(self, real_s: float) -> list[EndedJob]:
        """Wait up to `real_s` for jobs to end, and return those that have ended.

        Raises WanlabError if a worker cannot load the program.
        """
        ended = []
        for key, _ in self._selector.select(real_s):
            worker: Worker = key.data
            messages = worker.receive()
            if messages is None:
                ended += self._remove_lost(worker)
                continue
            for message in messages:
                if message["state"] == "refused":
                    raise WanlabError(message["what"], message["hint"])
                if message["state"] == "said":
                    worker.said = message["text"]
                if message["state"] == "ended":
                    ended.append(self._end(worker, message))
        return ended

    def _end(self, worker: Worker, message: WorkerMessage) -> EndedJob:
        assert worker.job is not None, "a worker ends only jobs that it was given"
        if message["status"] == FINISHED:
            self._largest_bytes = max(self._largest_bytes, message["peak_bytes"])
        job, worker.job = worker.job, None
        return EndedJob(job, message["status"], message["real_s"])

    def close(self) -> None:
        """End the workers and their jobs."""
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.join()
        self._workers = []
        self._selector.close()

    def _remove_lost(self, worker: Worker) -> list[EndedJob]:
        self._selector.unregister(worker.output)
        self._workers.remove(worker)
        worker.close()
        status = worker.join()
        if worker.job is None:
            if status:
                raise WanlabError(f"a worker process ended with status {status}", _cause_of(status))
            return []
        return [EndedJob(worker.job, LOST)]

    def _next_cpu(self) -> int | None:
        """Return the CPU with the fewest workers, or None if workers are not pinned.

        The first CPU comes last, because everything else tends to run there.
        """
        if not self._is_pinned:
            return None
        order = [*self.cpus[1:], self.cpus[0]]
        taken = [worker.cpu for worker in self._workers]
        return min(order, key=taken.count)

    def _job_bytes(self) -> int:
        """Return how much memory a job may use."""
        if not self._largest_bytes:
            return BASE_MEMORY_BYTES
        return max(MIN_JOB_BYTES, int(self._largest_bytes * MARGIN))

    def _free_bytes(self) -> int:
        """Return the available memory, without the memory that current jobs may still take."""
        need = self._job_bytes()
        busy = [worker for worker in self._workers if worker.job is not None]
        promised = sum(max(0, need - worker.used_bytes()) for worker in busy)
        return available_bytes() - promised - RESERVE_BYTES


def _children(pid: int) -> Sequence[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _resident_bytes(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _cause_of(status: int) -> str:
    if status < 0:
        return f"it was killed by {signal.Signals(-status).name}"
    return "its output is above"
