"""The program `wanlab` around a command: standard streams, signals, errors, exit status."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from wanlab.errors import WanlabError

from .signals import STATUS_OF_SIGNAL, EndedBySignal, end_on_signals, raise_on_signals

CONDITIONS_OF_THE_COMPUTER = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EFBIG,
    errno.EIO,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
    errno.ELOOP,
}
"""Errors that any command may get, such as a full disk, or the name of a file that cannot exist; other
system errors are bugs in wanlab."""
MAX_NAME_SHOWN = 200
COMPLETION = "_WANLAB_COMPLETE"
"""The variable with which a shell asks for completions."""


def run() -> None:
    """Run the command line and exit."""
    _open_standard_streams()
    try:
        _run_command(sys.argv[1:])
        end_on_signals()
    except SystemExit as end:
        # Flush here: at the end of the interpreter, a reader that has gone would give a traceback.
        _exit(end.code)
    except BrokenPipeError:
        _exit(STATUS_OF_SIGNAL + signal.SIGPIPE)
    except OSError as error:
        missing = _missing_place()
        is_condition = error.errno in CONDITIONS_OF_THE_COMPUTER or missing
        if "--debug" in sys.argv or not is_condition:
            raise
        where = f": {_shortened(str(error.filename))}" if error.filename else ""
        _print_error(missing or f"{error.strerror}{where}", error)
        _exit(1)
    except MemoryError as error:
        _print_error("out of memory", error)
        _exit(1)
    except WanlabError as error:
        if "--debug" in sys.argv:
            raise
        _print_error(str(error), error)
        _exit(1)
    except EndedBySignal as ended:
        _print_error(ended.message, ended)
        _exit(ended.exit_status)


def _missing_place() -> str:
    """Return which place that every command needs does not exist, with what to do; "" if none."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the current folder no longer exists (change to another one)"
    if not Path("/proc/self").exists():
        return "this computer has no /proc here (mount it: mount -t proc proc /proc)"
    return ""


def _run_command(arguments: list[str]) -> None:
    # Some of the programs that we start work in other folders.
    with contextlib.suppress(FileNotFoundError):  # the current folder no longer exists
        if "TMPDIR" in os.environ:
            os.environ["TMPDIR"] = str(Path(os.environ["TMPDIR"]).absolute())
    # The shell asks for completions: the words are in its environment, not in our arguments.
    is_completing = COMPLETION in os.environ
    # `mn` parses its own options. It does not import typer, so that it starts faster.
    if arguments[:1] == ["mn"] and not is_completing:
        from .inside import run_mn

        raise_on_signals()
        _exit(run_mn(arguments[1:]))
    if not arguments and not is_completing:
        from .browser import opens_without_arguments, web

        if opens_without_arguments():
            raise_on_signals()
            web()
            return
    from .app import app

    raise_on_signals()
    app(prog_name="wanlab")


def _print_error(message: str, error: BaseException) -> None:
    notes = getattr(error, "__notes__", ())
    text = "".join(map(_visible, "; ".join([message, *notes])))
    with contextlib.suppress(OSError):
        print(f"wanlab: {text}", file=sys.stderr, flush=True)


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_SHOWN else f"{name[:MAX_NAME_SHOWN]}..."


def _visible(character: str) -> str:
    """Escape control characters of the terminal: messages quote the content of files."""
    is_shown = character.isprintable() or character in "\n\t"
    return character if is_shown else ascii(character)[1:-1]


def _exit(status: str | int | None) -> NoReturn:
    """Exit without a traceback if the reader of our output, or the terminal, has gone."""
    end_on_signals()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and error.errno != errno.EPIPE:
                _print_error(f"cannot write to standard output: {error.strerror}", error)
                status = status or 1
    sys.exit(status)


def _open_standard_streams() -> None:
    """Open /dev/null for standard streams that are closed, so that no other file takes their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, because all lower ones are open.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
