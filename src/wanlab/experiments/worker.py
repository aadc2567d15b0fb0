"""A process that performs runs, one after another; `main` is all of it.

    whoever wants runs            worker                      child
        source  --------------->  loads the experiment once
        job     --------------->  fork  ------------------->  performs the run, writes its folder
                <----- ended ---  renames the folder  <-----  ends

It loads Python, the libraries and the experiment once; every run is a fork of that, so all runs begin in
the same state and none leaves anything to the next. It has one thread: that is what makes forking safe,
whatever its user is (a notebook, a cluster's worker).

It ends when its standard input does, however that came: a run at work is ended first, and its folder
removed. So nothing outlives a sweep that is killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from wanlab.errors import MachineError, WanlabError
from wanlab.machine.embedded.image import IMAGE_VARIABLE

from . import archive
from .definition import KERNEL, Experiment
from .files import load_experiment
from .origin import differences, origin_of
from .result import CONSOLE, Task, write_failure, write_result
from .run import Run
from .source import Source

WORKING_FOLDER = "files"
GRACE_S = 5.0
LENGTH = struct.Struct("!I")
PR_SET_PDEATHSIG = 1
FAILED, LOST = 1, 3


@dataclass(frozen=True)
class Job:
    """A run to be performed, and where."""

    task: Task
    folder: Path
    """Where it is made. It does not exist yet."""
    final: Path | None
    """Its name when it has ended well."""
    origin: Mapping[str, Any]
    cpu: int | None = None
    limit_s: float | None = None
    is_checked: bool = False
    """Whether this computer must be compared with the origin: it is not the one that wrote it."""

    def to_json(self) -> str:
        return json.dumps(
            {
                "parameters": dict(self.task.parameters),
                "seed": self.task.seed,
                "key": self.task.key,
                "folder": str(self.folder),
                "final": None if self.final is None else str(self.final),
                "origin": self.origin,
                "cpu": self.cpu,
                "limit_s": self.limit_s,
                "is_checked": self.is_checked,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Job:
        said = json.loads(text)
        return cls(
            task=Task(said["parameters"], said["seed"], said["key"]),
            folder=Path(said["folder"]),
            final=None if said["final"] is None else Path(said["final"]),
            origin=said["origin"],
            cpu=said["cpu"],
            limit_s=said["limit_s"],
            is_checked=said["is_checked"],
        )


_is_worker = False


def refuse_in_worker() -> None:
    """A script that performs runs whenever it is loaded would do so in its workers, too, without end."""
    if _is_worker:
        raise WanlabError(
            "the experiment's file performs runs while a worker loads it",
            'put that below: if __name__ == "__main__":',
        )


class Interrupted(BaseException):
    """Somebody wants the run to end: raised where it is, so that everything is put away."""


def perform(
    experiment: Experiment,
    task: Task,
    folder: Path,
    origin: Mapping[str, Any],
    source_folder: Path | None,
) -> None:
    """Performs a run in this process, and writes its folder."""
    working = folder / WORKING_FOLDER
    working.mkdir(parents=True)
    for name in experiment.files:
        assert source_folder is not None
        (working / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source_folder / name, working / name)
    run = Run(experiment.name, task.parameters, task.seed, working, files=experiment.files)
    with _kernel_of(task):
        experiment.function(run, **task.parameters)
    shutil.rmtree(working)
    write_result(folder, experiment.name, task, run.metrics, run.record(), origin)


@contextmanager
def _kernel_of(task: Task) -> Iterator[None]:
    """The image that a parameter names is the one that networks boot."""
    before = os.environ.get(IMAGE_VARIABLE)
    if kernel := str(task.parameters.get(KERNEL, "")):
        os.environ[IMAGE_VARIABLE] = kernel
    try:
        yield
    finally:
        if before is not None:
            os.environ[IMAGE_VARIABLE] = before
        elif kernel:
            del os.environ[IMAGE_VARIABLE]


# -- the process ----------------------------------------------------------------------------------


def main() -> int:
    """Reads a source, then jobs, until there are no more."""
    global _is_worker
    _is_worker = True
    commands, answers = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # what the experiment prints while it is loaded
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever started us says when to end

    def say(**told: Any) -> None:
        try:
            os.write(answers, f"{json.dumps(told)}\n".encode())
        except BrokenPipeError:  # nobody asks any more: the sweep was killed
            sys.exit(0)

    with tempfile.TemporaryDirectory(prefix="wanlab-source-") as folder:
        try:
            experiment = _receive(commands, Path(folder))
        except WanlabError as error:
            say(state="refused", what=error.what, hint=error.hint)
            return 1
        import pyarrow.parquet  # noqa: F401  before the first fork, so that no run loads it again

        say(state="ready")
        while line := commands.readline():
            say(
                state="ended", **_perform_in_child(experiment, Job.from_json(line.decode()), folder)
            )
    return 0


def source_parts(source: Source) -> Iterator[bytes]:
    """What `main` reads first."""
    head = json.dumps({"entry": source.entry, "name": source.name}).encode()
    for part in (head, source.to_bytes()):
        yield LENGTH.pack(len(part)) + part


def _receive(commands: BinaryIO, folder: Path) -> Experiment:
    def part() -> bytes:
        (length,) = LENGTH.unpack(commands.read(LENGTH.size))
        return commands.read(length)

    head = json.loads(part())
    entry = archive.unpack(part(), folder) / head["entry"]
    return load_experiment(entry, head["name"])


def _perform_in_child(experiment: Experiment, job: Job, source_folder: str) -> dict[str, Any]:
    began = time.monotonic()
    job.folder.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        status = LOST
        try:
            status = _child(experiment, job, Path(source_folder))
        finally:
            os._exit(status)
    reason = _wait(pid, job.limit_s)
    _, status, usage = os.wait4(pid, 0)
    told = {"real_s": time.monotonic() - began, "peak_bytes": usage.ru_maxrss * 1024}
    if reason == "stop":
        shutil.rmtree(job.folder, ignore_errors=True)
        sys.exit(0)
    if reason == "limit":
        what = f"it did not end within {job.limit_s:g} s of the computer's time"
        write_failure(job.folder, job.task, what, "give it more: --limit")
        return {**told, "status": "failed"}
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        write_failure(job.folder, job.task, f"its process was killed by {name}")
        return {**told, "status": "killed"}
    if os.WEXITSTATUS(status):
        return {**told, "status": "failed"}
    _put_in_place(job)
    return {**told, "status": "finished"}


def _put_in_place(job: Job) -> None:
    if job.final is None:
        return
    try:
        job.folder.rename(job.final)
    except OSError:  # somebody else has finished the same run
        if not job.final.is_dir():
            raise
        shutil.rmtree(job.folder, ignore_errors=True)


def _wait(pid: int, limit_s: float | None) -> str:
    """Until the child has ended; "stop" if nobody wants it any more, "limit" if it took too long: then
    it has been ended."""
    handle = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([handle, 0], [], [], limit_s)
        if handle in ready:
            return ""
        reason = "stop" if ready else "limit"
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        if not select.select([handle], [], [], GRACE_S)[0]:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [])
        return reason
    finally:
        os.close(handle)


# -- a child --------------------------------------------------------------------------------------


def _child(experiment: Experiment, job: Job, source_folder: Path) -> int:
    """Performs the run; 0 if it ended well. Whoever fails says why in its folder."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return LOST
    _be_alone(job)

    def end(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    signal.signal(signal.SIGTERM, end)
    try:
        if job.is_checked:
            _check_origin(experiment, job)
        perform(experiment, job.task, job.folder, job.origin, source_folder)
    except Interrupted:
        return LOST
    except WanlabError as error:
        if isinstance(error, MachineError) and error.console:
            print(error.console)
        what = str(error) if not error.hint else str(error).replace(f" ({error.hint})", "", 1)
        write_failure(job.folder, job.task, what, error.hint)
        return FAILED
    except BaseException as error:
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        write_failure(job.folder, job.task, what, _place_of(error, source_folder))
        return FAILED
    finally:
        sys.stdout.flush()
    return 0


def _be_alone(job: Job) -> None:
    """Standard streams and CPU of its own."""
    console = os.open(job.folder / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, number in ((nothing, 0), (console, 1), (console, 2)):
        os.dup2(ours, number)
    os.chdir(job.folder)
    if job.cpu is not None:
        os.sched_setaffinity(0, {job.cpu})


def _check_origin(experiment: Experiment, job: Job) -> None:
    """A run of another kernel or other programs would be another run under the same name."""
    if odd := differences(dict(job.origin), origin_of(experiment, job.task.parameters)):
        raise WanlabError(
            f"{os.uname().nodename} would give another result: {'; '.join(odd)}",
            "install the same wanlab, kernel and programs there as here",
        )


def _place_of(error: BaseException, source_folder: Path) -> str:
    """The line of the experiment where it happened."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(source_folder):
            return f"{path.relative_to(source_folder)}, line {frame.lineno}: {frame.line}"
    return ""
