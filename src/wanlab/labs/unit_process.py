"""A unit run for another program of ours, in a process that ends when that one does."""

from __future__ import annotations

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def command(name: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "wanlab.cli", "lab", "run", name, *options]


def end_with_parent() -> None:
    """Between fork and exec: whoever asked for it may be killed, and nobody else would end it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
