"""Start programs that end with this one, even if it is killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Do the same as subprocess.run. The program must not start others that take long: see guard.py."""
    return subprocess.run(command, preexec_fn=ending_with_us(), **options)


def run_for_text(
    command: Sequence[str | Path], folder: Path, stdin: IO[bytes] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, whatever its exit status; its errors are part of its output."""
    return run(
        command,
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def ending_with_us() -> Callable[[], None]:
    """Return a function that lets a forked process end with this one; call it before exec (prctl(2))."""
    return partial(_end_with, os.getpid())


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold back interrupts until the end of the block.

    One in the middle of Popen would lose the process that it has started. The mask of signals does not
    help, because another thread may receive the signal, and Python runs the handler in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():  # no handler runs here
        yield
        return
    held: list[int] = []
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if held:
        signal.raise_signal(held[0])


def _end_with(parent: int) -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before the call
        os.kill(os.getpid(), signal.SIGKILL)
