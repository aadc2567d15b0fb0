"""Mininet's messages: no newline of their own, several arguments joined by blanks.

What was asked for (`output`) goes to standard output, everything else to standard error, so that
a result can be piped on. At a terminal the two read as one.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from wanlab.errors import WanlabError, did_you_mean

OUTPUT = 25
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "output": OUTPUT,
    "warning": logging.WARNING,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
LOGLEVELDEFAULT = OUTPUT
LOGMSGFORMAT = "%(message)s"


class PlainHandler(logging.Handler):
    """Writes a message as it is, to the stream that its level belongs to."""

    def emit(self, record: logging.LogRecord) -> None:
        stream = sys.stdout if record.levelno == OUTPUT else sys.stderr
        stream.write(self.format(record))
        stream.flush()


class MininetLogger(logging.Logger):
    """The logger `lg`."""

    def __init__(self, name: str = "mininet") -> None:
        super().__init__(name, LOGLEVELDEFAULT)
        handler = PlainHandler()
        handler.setFormatter(logging.Formatter(LOGMSGFORMAT))
        self.addHandler(handler)
        self.propagate = False

    def setLevel(self, level: int | str) -> None:
        super().setLevel(level)
        self._cache.clear()  # type: ignore[attr-defined]  # nobody else does: it has no manager

    def setLogLevel(self, levelname: str | None = None) -> None:
        """What is below this level is not shown: "debug", "info", "output", "warning", ..."""
        if levelname is None:
            self.setLevel(LOGLEVELDEFAULT)
            return
        if levelname not in LEVELS:
            raise WanlabError(
                f'there is no log level "{levelname}"', did_you_mean(str(levelname), LEVELS)
            )
        self.setLevel(LEVELS[levelname])

    def _say(self, level: int, words: tuple[Any, ...]) -> None:
        if self.isEnabledFor(level):
            self._log(level, " ".join(map(str, words)), ())

    def output(self, *words: Any) -> None:
        self._say(OUTPUT, words)


lg = MininetLogger()


def setLogLevel(levelname: str | None = None) -> None:
    """What is below this level is not shown."""
    lg.setLogLevel(levelname)


def debug(*words: Any) -> None:
    lg._say(logging.DEBUG, words)


def info(*words: Any) -> None:
    lg._say(logging.INFO, words)


def output(*words: Any) -> None:
    lg._say(OUTPUT, words)


def warning(*words: Any) -> None:
    lg._say(logging.WARNING, words)


warn = warning


def error(*words: Any) -> None:
    lg._say(logging.ERROR, words)


def critical(*words: Any) -> None:
    lg._say(logging.CRITICAL, words)
