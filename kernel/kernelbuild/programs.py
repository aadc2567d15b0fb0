"""Start programs that end with this one, even if it is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Do the same as subprocess.run. The program must not start others that take long: see guard.py."""
    return subprocess.run(command, preexec_fn=ending_with_us(), **options)


def ending_with_us() -> Callable[[], None]:
    """Return a function that lets a forked process end with this one; call it before exec (prctl(2))."""
    return partial(_end_with, os.getpid())


def _end_with(parent: int) -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before the call
        os.kill(os.getpid(), signal.SIGKILL)
