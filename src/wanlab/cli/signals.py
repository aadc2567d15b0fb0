"""Signals that ask the command line to end: SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType

STATUS_OF_SIGNAL = 128  # a shell's exit status for signal N is 128 + N
IMPORTLIB = "<frozen importlib."  # the file names of its code begin with this
RETRY_REAL_S = 0.01
MAX_RETRIES = 2000
MAX_IMPORT_CPU_S = 1.0
"""CPU time that imports may use while a signal waits; on a busy computer, many seconds of real time."""
MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class EndedBySignal(BaseException):
    """A signal has asked us to end. It is raised in the main thread, so that everything is released.

    Not a KeyboardInterrupt, because typer would handle that itself.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def message(self) -> str:
        return MESSAGES[signal.Signals(self.number)]

    @property
    def exit_status(self) -> int:
        return STATUS_OF_SIGNAL + self.number


def raise_on_signals() -> None:
    """Raise EndedBySignal for these signals, unless they were ignored when we were started.

    nohup and a shell's background jobs ignore some of them.
    """
    retries = 0
    first_cpu_s = 0.0

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal retries, first_cpu_s
        cpu_s = time.process_time()
        first_cpu_s = first_cpu_s or cpu_s
        can_wait = retries < MAX_RETRIES and cpu_s - first_cpu_s < MAX_IMPORT_CPU_S
        if can_wait and _would_lose(frame):
            retries += 1
            _send_again(number)
            return
        raise EndedBySignal(number)

    sys.unraisablehook = _on_unraisable
    for number in MESSAGES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def _send_again(number: int) -> None:
    """Send a signal to the main thread a moment later."""
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(RETRY_REAL_S, signal.pthread_kill, [main, number]).start()


def _on_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Try again if EndedBySignal was raised where no exception can be raised, as in `__del__`."""
    if isinstance(unraisable.exc_value, EndedBySignal):
        _send_again(unraisable.exc_value.number)
    else:
        sys.__unraisablehook__(unraisable)


def end_on_signals() -> None:
    """Let these signals end the process at once, because everything has been released.

    While the interpreter ends, EndedBySignal would only be printed.
    """
    for number in MESSAGES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _would_lose(frame: FrameType | None) -> bool:
    """Whether an exception that is raised now would be dropped, or replaced by another one.

    This is so while a module is imported: Python prints and drops an exception in its callbacks, and
    turns it into a RuntimeError if a class is being created. It is also so in our hook, if the
    computer is so busy that the signal comes again before the hook has returned.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(IMPORTLIB) or code is _on_unraisable.__code__:
            return True
        frame = frame.f_back
    return False
