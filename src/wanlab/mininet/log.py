"""Mininet's messages. Arguments are joined by blanks, and no newline is added.

Results (`output`) go to standard output and everything else to standard error, so that results can be
piped to another program.
"""

from __future__ import annotations

import logging
import sys

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
    """Writes a message as it is, to the stream of its level."""

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
        self._cache.clear()  # type: ignore[attr-defined]  # it has no manager that would do this

    def setLogLevel(self, levelname: str | None = None) -> None:
        """Hide messages below this level: "debug", "info", "output", "warning", ..."""
        if levelname is None:
            self.setLevel(LOGLEVELDEFAULT)
            return
        if levelname not in LEVELS:
            raise WanlabError(
                f'there is no log level "{levelname}"', did_you_mean(str(levelname), LEVELS)
            )
        self.setLevel(LEVELS[levelname])

    def _write(self, level: int, words: tuple[object, ...]) -> None:
        if self.isEnabledFor(level):
            self._log(level, " ".join(map(str, words)), ())

    def output(self, *words: object) -> None:
        self._write(OUTPUT, words)


lg = MininetLogger()


def setLogLevel(levelname: str | None = None) -> None:
    """Hide messages below this level: "debug", "info", "output", "warning", ..."""
    lg.setLogLevel(levelname)


def debug(*words: object) -> None:
    lg._write(logging.DEBUG, words)


def info(*words: object) -> None:
    lg._write(logging.INFO, words)


def output(*words: object) -> None:
    lg._write(OUTPUT, words)


def warning(*words: object) -> None:
    lg._write(logging.WARNING, words)


warn = warning


def error(*words: object) -> None:
    lg._write(logging.ERROR, words)


def critical(*words: object) -> None:
    lg._write(logging.CRITICAL, words)
