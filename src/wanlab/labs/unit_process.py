"""Runs or grades units in separate processes, which end with the program that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import IO

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
LEAST_WAIT_REAL_S = 0.1


def command(name: str, *options: str) -> list[str]:
    """Return the command that runs a unit."""
    return [sys.executable, "-m", "wanlab.cli", "lab", "run", name, *options]


def start(
    command: Sequence[str], *, stdout: IO[bytes] | int, stderr: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a command without input. OSError if it cannot be executed."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,  # so that only we receive Ctrl-C
        preexec_fn=end_with_parent,
    )


def end(processes: Collection[subprocess.Popen[bytes]], within_s: float) -> None:
    """End processes that `start` has started; kill those that have not ended after `within_s`."""
    for process in processes:
        process.terminate()
    limit = time.monotonic() + within_s
    for process in processes:
        try:
            process.wait(max(LEAST_WAIT_REAL_S, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_with_parent() -> None:
    """Ask the kernel to end this process with its parent, even if that is killed (prctl(2)).

    Call it between fork and exec.
    """
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
