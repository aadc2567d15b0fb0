"""The worker processes of this computer: one for each CPU, each run alone on its own.

A run's kernel and its processes hand over to each other at every system call, so they stay on one CPU,
and two runs on one CPU would only take turns. Who performs how many does not matter to results.

**Memory.** A machine may take 2 GiB, and usually takes a tenth of that. Until a run has ended, each is
reckoned with all that its machine may take; then with a half more than the largest has taken. A run is
begun only if so much is available beyond what the running ones may still take: the computer never swaps.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.network.network import BASE_MEMORY_BYTES

from .source import Source
from .worker import Job, source_parts

END_REAL_S = 15.0
MOST_AT_ONCE = 1 << 16
RESERVE_BYTES = 256 << 20
"""Left to everything else on the computer."""
GROWTH = 1.5
LEAST_NEED_BYTES = 256 << 20


@dataclass(frozen=True)
class Ended:
    """A run that is over. "lost": its worker is gone, and the run with it."""

    job: Job
    status: str
    real_s: float = 0.0


class Worker:
    """Our end of a worker process."""

    def __init__(self, source: Source, cpu: int | None) -> None:
        self.cpu = cpu
        self.job: Job | None = None
        self._heard = b""
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys; from wanlab.experiments.worker import main; sys.exit(main())",
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
            start_new_session=True,  # Ctrl-C is for us: we tell it what to do
        )
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it says why when it is asked
            for part in source_parts(source):
                self.process.stdin.write(part)
            self.process.stdin.flush()

    @property
    def output(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def start(self, job: Job) -> None:
        self.job = replace(job, cpu=self.cpu)
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it is lost, and will be found to be
            self.process.stdin.write(self.job.to_json().encode() + b"\n")
            self.process.stdin.flush()

    def hear(self) -> list[dict[str, object]] | None:
        """All that it has said by now; None if it is gone."""
        data = os.read(self.output, MOST_AT_ONCE)
        if not data:
            return None
        *lines, self._heard = (self._heard + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def used_bytes(self) -> int:
        """What its run has taken of the computer's memory."""
        if self.job is None:
            return 0
        children = _children(self.process.pid)
        machines = [pid for child in children for pid in _children(child)]
        return sum(map(_resident_bytes, [*children, *machines]))

    def close(self) -> None:
        """Lets it end its run."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def join(self) -> int:
        try:
            status = self.process.wait(END_REAL_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


class Workers:
    """As many as there are CPUs unless said otherwise. They start when they are first needed.

    Without `is_pinned` each machine claims a CPU that no other one has: for those who do not know who
    else is at work on this computer.
    """

    def __init__(self, source: Source, count: int | None = None, *, is_pinned: bool = True) -> None:
        self.cpus = sorted(os.sched_getaffinity(0))
        self.count = count or len(self.cpus)
        self.note = ""
        """Why fewer are at work than could be."""
        self._source = source
        self._is_pinned = is_pinned
        self._workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()
        self._largest_bytes = 0

    @property
    def running(self) -> list[Job]:
        return [worker.job for worker in self._workers if worker.job is not None]

    def can_start(self) -> bool:
        """Whether one is free, and there is memory for its run."""
        self.note = ""
        if len(self.running) >= self.count:
            return False
        missing = self._need_bytes() - self._free_bytes()
        if missing > 0:
            self.note = f"{missing / 1e9:.1f} GB of memory are missing for one more run"
            if not self.running:
                raise WanlabError(
                    f"a run may need {self._need_bytes() / 1e9:.1f} GB of memory, "
                    f"{self._free_bytes() / 1e9:.1f} GB are available",
                    "end other programs",
                )
        return missing <= 0

    def start(self, job: Job) -> None:
        free = next((worker for worker in self._workers if worker.job is None), None)
        if free is None:
            free = Worker(self._source, self._next_cpu())
            self._workers.append(free)
            self._selector.register(free.output, selectors.EVENT_READ, free)
        free.start(job)

    def wait(self, real_s: float) -> list[Ended]:
        """Runs that have ended meanwhile; returns early if there is one."""
        ended = []
        for key, _ in self._selector.select(real_s):
            worker: Worker = key.data
            heard = worker.hear()
            if heard is None:
                ended += self._bury(worker)
                continue
            for said in heard:
                if said["state"] == "refused":
                    raise WanlabError(str(said["what"]), str(said["hint"]))
                if said["state"] == "ended":
                    ended.append(self._end(worker, said))
        return ended

    def _end(self, worker: Worker, said: Mapping[str, object]) -> Ended:
        assert worker.job is not None, "it has ended what it was given"
        if said["status"] == "finished":
            self._largest_bytes = max(self._largest_bytes, int(str(said["peak_bytes"])))
        job, worker.job = worker.job, None
        return Ended(job, str(said["status"]), float(str(said["real_s"])))

    def close(self) -> None:
        """Ends them with their runs."""
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.join()
        self._workers = []
        self._selector.close()

    def _bury(self, worker: Worker) -> list[Ended]:
        self._selector.unregister(worker.output)
        self._workers.remove(worker)
        worker.close()
        status = worker.join()
        if worker.job is None:
            if status:
                raise WanlabError(f"a worker process ended with status {status}", _reason(status))
            return []
        return [Ended(worker.job, "lost")]

    def _next_cpu(self) -> int | None:
        """The one with the fewest workers; the first of all last, where everything else tends to run."""
        if not self._is_pinned:
            return None
        order = [*self.cpus[1:], self.cpus[0]]
        taken = [worker.cpu for worker in self._workers]
        return min(order, key=taken.count)

    def _need_bytes(self) -> int:
        """What a run may take."""
        if not self._largest_bytes:
            return BASE_MEMORY_BYTES
        return max(LEAST_NEED_BYTES, int(self._largest_bytes * GROWTH))

    def _free_bytes(self) -> int:
        """What is available, but for what the running ones may still take."""
        need = self._need_bytes()
        busy = [worker for worker in self._workers if worker.job is not None]
        promised = sum(max(0, need - worker.used_bytes()) for worker in busy)
        return available_bytes() - promised - RESERVE_BYTES


def available_bytes() -> int:
    """Memory that can be taken without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise WanlabError("/proc/meminfo does not say how much memory is available")


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


def _reason(status: int) -> str:
    if status < 0:
        return f"it was killed by {signal.Signals(-status).name}"
    return "what it said is above"
