"""Jobs on other computers, through dask.distributed.

    wanlab sweep FILE --scheduler tcp://HOST:8786        or the scheduler's file (.json)

    this computer              scheduler            a Dask worker
      program, job  -------->  assigns  --------->  worker process (as on this computer)
      checks, unpacks  <--------------------------  the job's folder as an archive, with its hash

A Dask worker needs wanlab with the same kernel and programs; the program's data is sent with the job. A
result is accepted only if it is complete. If a worker is lost, Dask gives its job to another one. A Dask
worker has several threads and must not be forked, so it starts a worker process of wanlab.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab.errors import RequirementError, WanlabError
from wanlab.temporary import TemporaryFolder

from . import archive
from .job import FAILED, FINISHED, LOST, EndedJob, Job, write_failure
from .pool import Workers
from .progress import RunningJob
from .worker import JobProgram

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 20
SUBMITTED_PER_THREAD = 2
"""Jobs submitted for each thread of the cluster: one is performed, and one waits."""

RemoteResult = tuple[str, float, bytes, str]
"""Status, real time in s, the job's folder as an archive, and the archive's hash."""


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, address: str, program: JobProgram, count: int | None = None) -> None:
        try:
            import distributed
            from distributed.comm.addressing import resolve_address
        except ModuleNotFoundError:
            raise RequirementError(
                "dask.distributed is not installed", "pip install 'wanlab[cluster]'"
            ) from None
        is_file = address.endswith(".json")
        if is_file:
            _await_file(Path(address))
        try:
            if not is_file:
                resolve_address(address)  # a client with a wrong address would wait for 40 s
            self._client: Client = distributed.Client(
                **{"scheduler_file" if is_file else "address": address},
                timeout=CONNECT_S,
                set_as_default=False,
                name="wanlab",
            )
        except (OSError, ValueError) as error:
            raise WanlabError(
                f"no Dask scheduler answers at {address}",
                f"start one with: dask scheduler ({error})",
            ) from None
        self._program = program
        self._max_count = count
        self._jobs: dict[Future[RemoteResult], Job] = {}
        self._ended: queue.SimpleQueue[Future[RemoteResult]] = queue.SimpleQueue()
        self.note = ""

    @property
    def count(self) -> int:
        try:
            threads = sum(map(int, self._client.nthreads().values()))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise WanlabError(
                f"the scheduler no longer answers: {error}",
                "finished runs are kept; the same command resumes the sweep",
            ) from None
        self.note = "" if threads else "the scheduler has no workers"
        return min(threads, self._max_count or threads)

    @property
    def running(self) -> Sequence[RunningJob]:
        return [RunningJob(job.title) for job in self._jobs.values()]

    def can_start(self) -> bool:
        return len(self._jobs) < self.count * SUBMITTED_PER_THREAD

    def start(self, job: Job) -> None:
        future = self._client.submit(
            perform_remotely,
            self._program,
            job.to_json(),
            key=f"wanlab-{job.folder.name}",
            pure=False,
            retries=0,
        )
        self._jobs[future] = job
        future.add_done_callback(self._ended.put)

    def wait(self, real_s: float) -> list[EndedJob]:
        """Return the jobs that have ended; a job whose result arrived damaged counts as lost."""
        ended = []
        with contextlib.suppress(queue.Empty):
            ended.append(self._receive(self._ended.get(timeout=real_s)))
            while True:
                ended.append(self._receive(self._ended.get_nowait()))
        return ended

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone, and its jobs with it
            self._client.cancel(list(self._jobs), force=True)
        self._client.close(timeout=CONNECT_S)

    def _receive(self, future: Future[RemoteResult]) -> EndedJob:
        job = self._jobs.pop(future)
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            what = f"the cluster gave up: {error or future.status}"
            write_failure(job.folder, job.subject, what)
            return EndedJob(job, LOST if error is None else FAILED)
        status, real_s, data, digest = future.result()
        if hashlib.sha256(data).hexdigest() != digest:
            return EndedJob(job, LOST)
        unpack(data, job, is_finished=status == FINISHED)
        return EndedJob(job, status, real_s)


def _await_file(path: Path) -> None:
    """Wait for the scheduler's file, which a scheduler writes soon after its start.

    WanlabError if there is none after CONNECT_S; Dask itself would wait for ever.
    """
    deadline_s = time.monotonic() + CONNECT_S
    while not path.exists():
        if time.monotonic() > deadline_s:
            raise WanlabError(
                f"no Dask scheduler has written {path}",
                "start one with: dask scheduler --scheduler-file FILE.json",
            )
        time.sleep(0.1)


def pack(folder: Path) -> bytes:
    """Return a job's folder as an archive."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return archive.pack({str(path.relative_to(folder)): path.read_bytes() for path in files})


def unpack(data: bytes, job: Job, *, is_finished: bool) -> None:
    """Write a job's folder, and rename it to its final name if the job has finished."""
    archive.unpack(data, job.folder)
    if job.final is not None and is_finished:
        shutil.rmtree(job.final, ignore_errors=True)
        job.folder.rename(job.final)


# -- on the cluster's workers ---------------------------------------------------------------------

_local = threading.local()


def perform_remotely(program: JobProgram, text: str) -> RemoteResult:
    """Perform a job on this computer and return its folder.

    Each of Dask's threads reuses its worker process for the next job of the same program.
    """
    requested = Job.from_json(text)
    workers = _workers_of(program)
    with TemporaryFolder("run") as folder:
        job = replace(requested, folder=folder / "run", final=None, cpu=None)
        while not workers.can_start():
            workers.wait(1.0)
        workers.start(job)
        ended: list[EndedJob] = []
        while not ended:
            ended = workers.wait(1.0)
        if ended[0].status == LOST:
            write_failure(job.folder, job.subject, "its worker process was lost")
        data = pack(job.folder)
    return ended[0].status, ended[0].real_s, data, hashlib.sha256(data).hexdigest()


def _workers_of(program: JobProgram) -> Workers:
    """Return this thread's worker process; start another one if it has loaded another program."""
    current: tuple[JobProgram, Workers] | None = getattr(_local, "workers", None)
    if current is None or current[0] != program:
        if current is not None:
            current[1].close()
        current = _local.workers = (program, Workers(program, 1, is_pinned=False))
    return current[1]
