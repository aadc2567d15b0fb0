"""Run a unit in a separate process, which ends with the program that started it."""

from __future__ import annotations

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def command(name: str, *options: str) -> list[str]:
    """Return the command that runs a unit."""
    return [sys.executable, "-m", "wanlab.cli", "lab", "run", name, *options]


def end_with_parent() -> None:
    """Ask the kernel to end this process with its parent, even if that is killed (prctl(2)).

    Call it between fork and exec.
    """
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
