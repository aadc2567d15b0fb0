"""Forked processes, each with one job, a limit of processor time, and an end that is certain.

A mutant may loop forever, wait forever, or fill the memory. Processor time is limited by the kernel, so
that a busy computer does not make a mutant fail. The limit of real time does not count the time during
which the process was ready to run and had to wait for a processor.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

MAX_MEMORY_BYTES = 3 << 30
WAIT_FACTOR = 10
"""How much longer than its processor time a test may wait, for a process or a file."""
MIN_WAIT_S = 60.0
MAX_REPLY_BYTES = 60_000
PR_SET_PDEATHSIG = 1
TICK_MS = 500

Work = Callable[[], str]
"""What a process does; it returns its result in one line."""


@dataclass(frozen=True)
class Job:
    """`work` is done in a process of its own, for at most `cpu_s` of processor time."""

    name: str
    cpu_s: float
    work: Work


@dataclass(frozen=True)
class Ending:
    """How a job ended. `text` is its result; `reason` says why there is none."""

    name: str
    text: str
    reason: str = ""


class _Child:
    """A process with a job, in a process group and with a folder for temporary files of its own."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = tempfile.mkdtemp(prefix="wanlab-mutant-")
        self.reply, end = os.pipe()
        self.began_s = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _perform(job, self.folder, end)
        os.close(end)
        with contextlib.suppress(OSError):  # it may have done so itself
            os.setpgid(self.pid, self.pid)
        self.pidfd = os.pidfd_open(self.pid)

    @property
    def is_late(self) -> bool:
        """Whether it has waited for too long, and not for a processor."""
        waited_s = time.monotonic() - self.began_s - _queued_s(self.pid)
        return waited_s > max(MIN_WAIT_S, WAIT_FACTOR * self.job.cpu_s)

    def end(self) -> Ending:
        """Wait for the process, which has ended or is ended now; end those that it has started."""
        is_ended = bool(select.select([self.pidfd], [], [], 0)[0])
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        text = os.read(self.reply, MAX_REPLY_BYTES).decode(errors="replace") if is_ended else ""
        for descriptor in (self.reply, self.pidfd):
            os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)
        if text:
            return Ending(self.job.name, text)
        number = os.waitstatus_to_exitcode(status)
        is_timeout = not is_ended or -number in (signal.SIGXCPU, signal.SIGKILL)
        return Ending(self.job.name, "", "timeout" if is_timeout else f"ended with status {number}")


def run_jobs(jobs: Iterable[Job], workers: int, parent: int | None = None) -> Iterator[Ending]:
    """Do all jobs, `workers` at a time; yield how they end, in the order of their ends.

    If the other end of the pipe `parent` is closed, all processes end, and this one too.
    """
    waiting = iter(jobs)
    running: dict[int, _Child] = {}
    poll = select.poll()
    if parent is not None:
        poll.register(parent, select.POLLHUP)
    try:
        while True:
            while len(running) < workers and (job := next(waiting, None)) is not None:
                child = _Child(job)
                running[child.pidfd] = child
                poll.register(child.pidfd, select.POLLIN)
            if not running:
                return
            for descriptor, _ in poll.poll(TICK_MS):
                if descriptor == parent:
                    sys.exit("the program that had started this one has ended")
            ended = select.select(list(running), [], [], 0)[0]
            for descriptor in [*ended, *(fd for fd in running if running[fd].is_late)]:
                if descriptor in running:
                    poll.unregister(descriptor)
                    yield running.pop(descriptor).end()
    finally:
        for child in running.values():
            child.end()


def _queued_s(pid: int) -> float:
    """Return how long a process has waited for a processor."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _perform(job: Job, folder: str, reply: int) -> NoReturn:
    """Do the job in this process, which has just been forked, and leave it."""
    status = 1
    try:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _limit(job.cpu_s)
        faulthandler.disable()  # a crash is a result, not a report
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = folder
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        os.write(reply, job.work().encode()[:MAX_REPLY_BYTES])
        status = 0
    except BaseException as error:  # also SystemExit: this process must not return
        with contextlib.suppress(OSError):
            os.write(reply, f"broken {type(error).__name__}: {error}".encode()[:MAX_REPLY_BYTES])
    finally:
        os._exit(status)


def _limit(cpu_s: float) -> None:
    seconds = max(1, round(cpu_s))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
