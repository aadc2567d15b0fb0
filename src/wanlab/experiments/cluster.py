"""Runs on other computers, through dask.distributed: `wanlab sweep FILE --scheduler tcp://HOST:8786`,
or the name of the scheduler's file (.json).

    here                       scheduler            a Dask worker
      source, job  --------->  chooses  --------->  worker process (the same as on this computer)
      checks, unpacks  <--------------------------  the run's folder as an archive, with its hash

A Dask worker needs wanlab, with the same kernel and programs, and nothing else: the experiment travels
with the task. What it sends back is taken whole or not at all; a run whose worker is lost goes to
another one, which is Dask's doing. Dask's worker only looks after a worker process of ours: it has
several threads, and must not be forked.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wanlab.errors import RequirementError, WanlabError

from . import archive
from .result import RESULT, write_failure
from .source import Source
from .worker import Job
from .workers import Ended, Workers

CONNECT_S = 20
AHEAD = 2
"""Runs that are given away for each thread of the cluster: one at work, and one that waits."""

Answer = tuple[str, float, bytes, str]
"""Status, real time in s, the run's folder as an archive, and the archive's hash."""


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, address: str, source: Source, count: int | None = None) -> None:
        try:
            import distributed
            from distributed.comm.addressing import resolve_address
        except ModuleNotFoundError:
            raise RequirementError(
                "dask.distributed is not installed", "pip install 'wanlab[cluster]'"
            ) from None
        where = {"scheduler_file" if address.endswith(".json") else "address": address}
        if "scheduler_file" in where:
            _await_file(Path(address))
        try:
            if "address" in where:
                resolve_address(address)  # a client of what is none does not end for 40 s
            self._client: Any = distributed.Client(  # type: ignore[no-untyped-call]
                **where, timeout=CONNECT_S, set_as_default=False, name="wanlab"
            )
        except (OSError, ValueError) as error:
            raise WanlabError(
                f"no Dask scheduler answers at {address}", f"start one: dask scheduler ({error})"
            ) from None
        self._source = source
        self._most = count
        self._jobs: dict[Any, Job] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.note = ""

    @property
    def count(self) -> int:
        try:
            threads = sum(int(count) for count in self._client.nthreads().values())
        except (OSError, TimeoutError, RuntimeError) as error:
            raise WanlabError(
                f"the scheduler does not answer any more: {error}",
                "what is done is kept: the same command goes on",
            ) from None
        self.note = "" if threads else "the scheduler has no workers"
        return min(threads, self._most or threads)

    @property
    def running(self) -> Sequence[Job]:
        return list(self._jobs.values())

    def can_start(self) -> bool:
        return len(self._jobs) < self.count * AHEAD

    def start(self, job: Job) -> None:
        future = self._client.submit(
            perform_remotely,
            *(self._source.entry, self._source.name, self._source.to_bytes(), job.to_json()),
            key=f"wanlab-{job.task.key[:16]}-{job.folder.name}",
            pure=False,
            retries=0,
        )
        self._jobs[future] = job
        future.add_done_callback(self._ended.put)

    def wait(self, real_s: float) -> list[Ended]:
        """Runs that have come back; those that came back damaged are lost."""
        ended = []
        with contextlib.suppress(queue.Empty):
            ended.append(self._take(self._ended.get(timeout=real_s)))
            while True:
                ended.append(self._take(self._ended.get_nowait()))
        return ended

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone, and then nothing is left
            self._client.cancel(list(self._jobs), force=True)
        self._client.close(timeout=CONNECT_S)

    def _take(self, future: Any) -> Ended:
        job = self._jobs.pop(future)
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            what = f"the cluster gave it up: {error or future.status}"
            write_failure(job.folder, job.task, what)
            return Ended(job, "lost" if error is None else "failed")
        status, real_s, data, digest = future.result()
        if hashlib.sha256(data).hexdigest() != digest:
            return Ended(job, "lost")
        unpack(data, job)
        return Ended(job, status, real_s)


def _await_file(path: Path) -> None:
    """A scheduler that has just been started has not written it yet; Dask would wait for ever."""
    latest_s = time.monotonic() + CONNECT_S
    while not path.exists():
        if time.monotonic() > latest_s:
            raise WanlabError(
                f"no Dask scheduler has written {path}",
                "start one: dask scheduler --scheduler-file FILE.json",
            )
        time.sleep(0.1)


def pack(folder: Path) -> bytes:
    """A run's folder as an archive."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return archive.pack({str(path.relative_to(folder)): path.read_bytes() for path in files})


def unpack(data: bytes, job: Job) -> None:
    """Writes a run's folder, and gives it its name if it is a result."""
    archive.unpack(data, job.folder)
    if job.final is not None and (job.folder / RESULT).exists():
        shutil.rmtree(job.final, ignore_errors=True)
        job.folder.rename(job.final)


# -- on the cluster's workers ---------------------------------------------------------------------

_local = threading.local()


def perform_remotely(entry: str, name: str, files: bytes, text: str) -> Answer:
    """Performs a run on this computer; its folder comes back. One worker process for each of Dask's
    threads stays for the next run of the same experiment."""
    asked = Job.from_json(text)
    workers = _workers_of(Source(entry, name, archive.read(files)))
    with tempfile.TemporaryDirectory(prefix="wanlab-run-") as made:
        job = Job(
            asked.task, Path(made) / "run", None, asked.origin, None, asked.limit_s, is_checked=True
        )
        while not workers.can_start():
            workers.wait(1.0)
        workers.start(job)
        ended: list[Ended] = []
        while not ended:
            ended = workers.wait(1.0)
        if ended[0].status == "lost":
            write_failure(job.folder, job.task, "its worker process was lost")
        data = pack(job.folder)
    return ended[0].status, ended[0].real_s, data, hashlib.sha256(data).hexdigest()


def _workers_of(source: Source) -> Workers:
    known: tuple[str, Workers] | None = getattr(_local, "workers", None)
    digest = hashlib.sha256(source.to_bytes() + source.name.encode()).hexdigest()
    if known is None or known[0] != digest:
        if known is not None:
            known[1].close()
        known = _local.workers = (digest, Workers(source, 1, is_pinned=False))
    return known[1]
