"""The command line: `wanlab VERB`. It translates and decides nothing.

One file per verb; each imports what it needs when it runs, so that no verb waits for another's
libraries.

Exit status: 0; 1 for an error that was told; 2 for wrong usage; 128 + N when signal N ended us (130:
Ctrl-C). `wanlab exec` has its command's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from wanlab.errors import WanlabError

ENDED_BY_SIGNAL = 128
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class Ended(BaseException):
    """A signal that asks us to end: raised where we are, so that everything is put away. (typer would
    take a KeyboardInterrupt from us.)"""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> None:
    """Entry point of the program."""
    _open_standard_streams()
    _end_by_exception()
    try:
        _run(sys.argv[1:])
    except WanlabError as error:
        if "--debug" in sys.argv:
            raise
        _tell(str(error), error)
        _exit(1)
    except Ended as ended:
        _tell(WORDS[signal.Signals(ended.number)], ended)
        _exit(ENDED_BY_SIGNAL + ended.number)


def _run(arguments: list[str]) -> None:
    """`mn` reads its options by itself, and its user waits for it: not for typer, too."""
    if arguments[:1] == ["mn"]:
        from .inside import run_mn

        _exit(run_mn(arguments[1:]))
    if not arguments:
        from .browser import opens_without_arguments, web

        if opens_without_arguments():
            web()
            return
    from .app import app

    app(prog_name="wanlab")


def _tell(message: str, error: BaseException) -> None:
    notes = getattr(error, "__notes__", ())
    with contextlib.suppress(OSError):
        print("wanlab: " + "; ".join([message, *notes]), file=sys.stderr, flush=True)


def _exit(status: int) -> None:
    """Whoever read our output, or the terminal, may have gone: that must not be an error at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(status)


def _open_standard_streams() -> None:
    """A program may be started with some of its streams closed. Files that we open must not take
    their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number: those below are open.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _end_by_exception() -> None:
    """Not where whoever started us had a signal ignored: nohup, or a shell's background."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Ended(number)

    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
