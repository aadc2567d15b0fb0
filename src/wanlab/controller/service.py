"""The common part of our services: a listening socket, and running in the background."""

from __future__ import annotations

import os
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path

MAX_PENDING = 1024


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--detach", action="store_true", help="go to the background as soon as it is listening"
    )
    parser.add_argument("--pidfile", help="file to write the process ID to")


def listen(program: str, address: str, port: int) -> socket.socket:
    """Return a listening socket. Ends the program with a message if that fails."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except OSError as error:
        sys.exit(f"{program}: {address}:{port}: {error.strerror}")
    listener.listen(MAX_PENDING)
    return listener


def enter_background(*, detach: bool, pidfile: str | None, keep_output: bool = False) -> None:
    """Write the PID file; with `detach`, continue in the background.

    The process that was started exits here. Its child leaves the terminal and the standard streams,
    except for its output if `keep_output` is set.
    """
    pid = os.fork() if detach else os.getpid()
    if pidfile and pid:
        Path(pidfile).write_text(f"{pid}\n", encoding="ascii")
    if not detach:
        return
    if pid:
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0,) if keep_output else (0, 1, 2):
        os.dup2(null, stream)
