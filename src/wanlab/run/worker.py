"""The worker process, which performs runs one after another; it runs `main`.

    client (sweep, notebook)      worker                      child
        source  --------------->  loads the experiment once
        job     --------------->  fork  ------------------->  performs the run, writes its folder
                <----- ended ---  renames the folder  <-----  exits

The worker loads Python, the libraries and the experiment once. Every run is a fork of that process, so
all runs begin in the same state and none affects the next. The worker has a single thread, so forking
is safe, even if its client has many (a notebook, a Dask worker).

The worker ends when its standard input does, for whatever reason: it ends the current run first and
removes its folder. So nothing outlives a sweep that is killed.
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
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from wanlab.errors import MachineError, WanlabError
from wanlab.machine.embedded.image import IMAGE_VARIABLE
from wanlab.temporary import TemporaryFolder

from .archive import unpack
from .definition import KERNEL, Definition
from .key import Origin, differences, origin_of
from .loading import load_definition
from .result import (
    CONSOLE,
    WORKING_FOLDER,
    Task,
    remove_written_files,
    write_failure,
    write_result,
)
from .run import Run
from .source import SourceCode

GRACE_S = 5.0
LENGTH = struct.Struct("!I")
PR_SET_PDEATHSIG = 1
EXIT_FAILED, EXIT_LOST = 1, 3


@dataclass(frozen=True)
class Job:
    """A task, and the folder for its result."""

    task: Task
    folder: Path
    """The folder that the run writes; it does not exist yet."""
    final: Path | None
    """The folder is renamed to this path when the run has succeeded."""
    origin: Origin
    cpu: int | None = None
    limit_s: float | None = None
    """How much real time the run may take."""
    is_checked: bool = False
    """Whether to compare this computer with the origin, because another computer wrote it."""

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
        data = json.loads(text)
        return cls(
            task=Task(data["parameters"], data["seed"], data["key"]),
            folder=Path(data["folder"]),
            final=None if data["final"] is None else Path(data["final"]),
            origin=data["origin"],
            cpu=data["cpu"],
            limit_s=data["limit_s"],
            is_checked=data["is_checked"],
        )


_is_worker = False


def refuse_in_worker() -> None:
    """Raise WanlabError in a worker process.

    A script that performs runs when it is loaded would do so in its workers too, and never end.
    """
    if _is_worker:
        raise WanlabError(
            "the experiment's file performs runs while a worker loads it",
            'move that code below: if __name__ == "__main__":',
        )


class Interrupted(BaseException):
    """Raised inside a run to end it, so that its context managers clean up."""


def perform(
    definition: Definition,
    task: Task,
    folder: Path,
    origin: Origin,
    source_folder: Path | None,
) -> None:
    """Perform a run in this process and write its folder."""
    working = folder / WORKING_FOLDER
    working.mkdir(parents=True)
    for name in definition.files:
        assert source_folder is not None
        (working / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source_folder / name, working / name)
    run = Run(definition.name, task.parameters, task.seed, working, files=definition.files)
    with _kernel_of(task):
        definition.function(run, **definition.own(task.parameters))
    shutil.rmtree(working)
    write_result(folder, definition.name, task, run.metrics, run.record(), origin)


@contextmanager
def _kernel_of(task: Task) -> Iterator[None]:
    """Make networks boot the kernel that the parameter `kernel` names, if it is set."""
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


# -- the worker process ---------------------------------------------------------------------------


def main() -> int:
    """Read a source, then jobs until there are no more; write a line of JSON about each."""
    global _is_worker
    _is_worker = True
    commands, replies = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # what the experiment prints while it is loaded
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the client decides when to end

    def reply(**fields: object) -> None:
        try:
            os.write(replies, f"{json.dumps(fields)}\n".encode())
        except BrokenPipeError:  # the client was killed
            sys.exit(0)

    with TemporaryFolder("source") as folder:
        try:
            definition = _receive(commands, folder)
        except WanlabError as error:
            reply(state="refused", what=error.what, hint=error.hint)
            return 1
        import pyarrow.parquet  # noqa: F401  before the first fork, so that no run loads it again

        reply(state="ready")
        while line := commands.readline():
            job = Job.from_json(line.decode())
            reply(state="ended", **_perform_in_child(definition, job, folder))
    return 0


def source_parts(source: SourceCode) -> Iterator[bytes]:
    """Yield the first input of `main`: the name of the experiment, then its files."""
    head = json.dumps({"entry": source.entry, "name": source.name}).encode()
    for part in (head, source.to_bytes()):
        yield LENGTH.pack(len(part)) + part


def _receive(commands: BinaryIO, folder: Path) -> Definition:
    def read_part() -> bytes:
        (length,) = LENGTH.unpack(commands.read(LENGTH.size))
        return commands.read(length)

    head = json.loads(read_part())
    entry = unpack(read_part(), folder) / head["entry"]
    return load_definition(entry, head["name"], Definition)


def _perform_in_child(
    definition: Definition, job: Job, source_folder: Path
) -> dict[str, str | float]:
    """Perform a run in a child process; return its status, real time and peak memory."""
    began = time.monotonic()
    job.folder.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        status = EXIT_LOST
        try:
            status = _child(definition, job, source_folder)
        finally:
            os._exit(status)
    reason = _wait(pid, job.limit_s)
    _, status, usage = os.wait4(pid, 0)
    costs = {"real_s": time.monotonic() - began, "peak_bytes": usage.ru_maxrss * 1024}
    if reason == "stop":
        shutil.rmtree(job.folder, ignore_errors=True)
        sys.exit(0)
    if reason == "limit" or os.WIFSIGNALED(status):
        remove_written_files(job.folder)
    if reason == "limit":
        what = f"it did not end within {job.limit_s:g} s of real time"
        write_failure(job.folder, job.task, what, "allow more: --limit")
        return {**costs, "status": "failed"}
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        write_failure(job.folder, job.task, f"its process was killed by {name}")
        return {**costs, "status": "killed"}
    if os.WEXITSTATUS(status):
        return {**costs, "status": "failed"}
    _rename_to_final(job)
    return {**costs, "status": "finished"}


def _rename_to_final(job: Job) -> None:
    if job.final is None:
        return
    try:
        job.folder.rename(job.final)
    except OSError:  # another process has finished the same run
        if not job.final.is_dir():
            raise
        shutil.rmtree(job.folder, ignore_errors=True)


def _wait(pid: int, limit_s: float | None) -> str:
    """Wait until the child has ended, or end it; return the reason.

    "stop": standard input has ended; "limit": the run took too long; "": the child ended by itself.
    """
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


def _child(definition: Definition, job: Job, source_folder: Path) -> int:
    """Perform the run and return the exit status; a run that fails writes the reason to its folder."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return EXIT_LOST
    _detach(job)

    def end(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    signal.signal(signal.SIGTERM, end)
    try:
        if job.is_checked:
            _check_origin(definition, job)
        perform(definition, job.task, job.folder, job.origin, source_folder)
    except Interrupted:
        return EXIT_LOST
    except WanlabError as error:
        remove_written_files(job.folder)
        if isinstance(error, MachineError) and error.console:
            print(error.console)
        what = str(error) if not error.hint else str(error).replace(f" ({error.hint})", "", 1)
        write_failure(job.folder, job.task, what, error.hint)
        return EXIT_FAILED
    except BaseException as error:
        remove_written_files(job.folder)
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        write_failure(job.folder, job.task, what, _line_of(error, source_folder))
        return EXIT_FAILED
    finally:
        sys.stdout.flush()
    return 0


def _detach(job: Job) -> None:
    """Give the child its own standard streams, working directory and CPU."""
    console = os.open(job.folder / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, number in ((nothing, 0), (console, 1), (console, 2)):
        os.dup2(descriptor, number)
    os.chdir(job.folder)
    if job.cpu is not None:
        os.sched_setaffinity(0, {job.cpu})


def _check_origin(definition: Definition, job: Job) -> None:
    """Raise WanlabError if kernel, wanlab or programs of this computer differ from the origin's."""
    if different := differences(job.origin, origin_of(definition, job.task.parameters)):
        raise WanlabError(
            f"{os.uname().nodename} would give a different result: {'; '.join(different)}",
            "install the same wanlab, kernel and programs there as here",
        )


def _line_of(error: BaseException, source_folder: Path) -> str:
    """Return the innermost line of the experiment's files in the traceback; "" if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(source_folder):
            return f"{path.relative_to(source_folder)}, line {frame.lineno}: {frame.line}"
    return ""
