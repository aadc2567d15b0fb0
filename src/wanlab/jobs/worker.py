"""The worker process, which performs jobs one after another; it runs `main`.

    client (sweep, lab, server)   worker                      child
        program  -------------->  loads it once
        job      -------------->  fork  ------------------->  performs the job, writes its folder
                 <----- said ------------------------------   says what it does
                 <----- ended ---  renames the folder  <----  exits

The worker loads Python, the libraries and the program once. Every job is a fork of that process, so
all jobs begin in the same state and none affects the next. The worker has a single thread, so forking
is safe, even if its client has many (a notebook, a Dask worker, a web server).

The worker ends when its standard input does, for whatever reason: it ends the current job first and
removes its folder. So nothing outlives a client that is killed.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import shutil
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from wanlab.errors import MachineError, WanlabError
from wanlab.parent_death import end_with_parent
from wanlab.temporary import TemporaryFolder

from .job import (
    CONSOLE,
    FAILED,
    FINISHED,
    KILLED,
    LATE,
    Job,
    Say,
    remove_written_files,
    write_failure,
)

GRACE_S = 15.0
LENGTH = struct.Struct("!I")
EXIT_FAILED, EXIT_LOST = 1, 3
MAX_SAID = 500
"""Characters of a message about progress: a pipe transfers as many bytes at once (PIPE_BUF, 4096)."""

Perform = Callable[[Job, Say], None]
Load = Callable[[bytes, Path], Perform]


@dataclass(frozen=True)
class JobProgram:
    """What workers perform: a function that loads it, sent by its name, and that function's data.

    `load(data, folder)` returns the function that performs a job. `folder` is the worker's own.
    """

    load: Load
    data: bytes = b""

    def parts(self) -> Iterator[bytes]:
        """Yield the first input of `main`."""
        name = f"{self.load.__module__}:{self.load.__qualname__}"
        for part in (name.encode(), self.data):
            yield LENGTH.pack(len(part)) + part


class Interrupted(BaseException):
    """Raised inside a job to end it, so that its context managers clean up."""


# -- the worker process ---------------------------------------------------------------------------


def main() -> int:
    """Read a program, then jobs until there are no more; write a line of JSON about each."""
    commands, replies = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)  # what the program prints while it is loaded
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the client decides when to end

    def reply(**fields: object) -> None:
        try:
            os.write(replies, f"{json.dumps(fields)}\n".encode())
        except BrokenPipeError:  # the client was killed
            sys.exit(0)

    def say(text: str) -> None:
        reply(state="said", text=text[:MAX_SAID])

    with TemporaryFolder("source") as folder:
        try:
            perform = _load(commands, folder)
        except WanlabError as error:
            reply(state="refused", what=error.what, hint=error.hint)
            return 1
        reply(state="ready")
        while line := commands.readline():
            job = Job.from_json(line.decode())
            reply(state="ended", **_perform_in_child(perform, job, say, folder))
    return 0


def _load(commands: BinaryIO, folder: Path) -> Perform:
    def read_part() -> bytes:
        (length,) = LENGTH.unpack(commands.read(LENGTH.size))
        return commands.read(length)

    module, _, name = read_part().decode().partition(":")
    load: Load = getattr(importlib.import_module(module), name)
    return load(read_part(), folder)


def _perform_in_child(
    perform: Perform, job: Job, say: Say, program_folder: Path
) -> dict[str, str | float]:
    """Perform a job in a child process; return its status, real time and peak memory."""
    began = time.monotonic()
    job.folder.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        status = EXIT_LOST
        try:
            status = _child(perform, job, say, program_folder)
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
        write_failure(job.folder, job.subject, what, "allow more: --limit")
        return {**costs, "status": LATE}
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        write_failure(job.folder, job.subject, f"its process was killed by {name}")
        return {**costs, "status": KILLED}
    if os.WEXITSTATUS(status):
        return {**costs, "status": FAILED}
    _rename_to_final(job)
    return {**costs, "status": FINISHED}


def _rename_to_final(job: Job) -> None:
    if job.final is None:
        return
    try:
        job.folder.rename(job.final)
    except OSError:  # another process has finished the same job
        if not job.final.is_dir():
            raise
        shutil.rmtree(job.folder, ignore_errors=True)


def _wait(pid: int, limit_s: float | None) -> str:
    """Wait until the child has ended, or end it; return the reason.

    "stop": standard input has ended; "limit": the job took too long; "": the child ended by itself.
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


def _child(perform: Perform, job: Job, say: Say, program_folder: Path) -> int:
    """Perform the job and return the exit status; a job that fails writes the reason to its folder."""
    end_with_parent(os.getppid(), signal.SIGKILL)

    def end(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    signal.signal(signal.SIGTERM, end)
    try:
        _detach(job)
        perform(job, say)
    except Interrupted:
        return EXIT_LOST
    except WanlabError as error:
        remove_written_files(job.folder)
        if isinstance(error, MachineError) and error.console:
            print(error.console)
        what = str(error) if not error.hint else str(error).replace(f" ({error.hint})", "", 1)
        what = "; ".join([what, *getattr(error, "__notes__", ())])
        write_failure(job.folder, job.subject, what, error.hint)
        return EXIT_FAILED
    except BaseException as error:
        remove_written_files(job.folder)
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        write_failure(job.folder, job.subject, what, _line_of(error, program_folder))
        return EXIT_FAILED
    finally:
        with suppress(OSError):
            sys.stdout.flush()
    return 0


def _detach(job: Job) -> None:
    """Give the child its own standard streams, working directory and CPU."""
    console = os.open(job.folder / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, number in ((nothing, 0), (console, 1), (console, 2)):
        os.dup2(descriptor, number)
    os.chdir(job.working_folder or job.folder)
    if job.cpu is not None:
        os.sched_setaffinity(0, {job.cpu})


def _line_of(error: BaseException, folder: Path) -> str:
    """Return the innermost line of a file in the folder in the traceback; "" if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(folder):
            return f"{path.relative_to(folder)}, line {frame.lineno}: {frame.line}"
    return ""
