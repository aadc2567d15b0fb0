"""Signals that ask the command line to end: SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
from types import FrameType

STATUS_OF_SIGNAL = 128  # a shell's exit status for signal N is 128 + N
MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class EndedBySignal(BaseException):
    """A signal has asked us to end. It is raised wherever we are, so that everything is released.

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

    def end(number: int, frame: FrameType | None) -> None:
        raise EndedBySignal(number)

    for number in MESSAGES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
