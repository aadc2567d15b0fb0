"""Lets a process end with its parent, even if that is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def end_with_parent(parent: int, number: int = signal.SIGTERM) -> None:
    """Let the kernel send this process a signal when its parent ends (prctl(2)).

    Call it between fork and exec. The parent is really a thread: the one that forked. A process whose
    parent has already ended is killed.
    """
    LIBC.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def with_us(command: Sequence[str]) -> list[str]:
    """Return a command that becomes `command` and ends with this process.

    This file is run first. A `preexec_fn` would run Python between fork and exec, which can deadlock if
    this process has threads (subprocess.Popen).
    """
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def ending_with_us() -> Callable[[], None]:
    """Return a `preexec_fn` that lets a child end with this process.

    Unlike `with_us`, it lets Popen raise OSError if the command cannot be executed. It is only for
    processes whose other threads hold no locks then.
    """
    return partial(end_with_parent, os.getpid())


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
