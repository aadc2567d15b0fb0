"""What our programs that are services share: a listening socket, and a place in the background."""

from __future__ import annotations

import os
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path

MOST_WAITING = 1024


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--detach", action="store_true", help="go to the background once listening")
    parser.add_argument("--pidfile", help="file that gets the number of the process")


def listen(program: str, address: str, port: int) -> socket.socket:
    """Ends the program, with its reason, if it cannot."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except OSError as error:
        sys.exit(f"{program}: {address}:{port}: {error.strerror}")
    listener.listen(MOST_WAITING)
    return listener


def settle(*, detach: bool, pidfile: str | None, keep_output: bool = False) -> None:
    """Writes the number of the process that stays; if it is to `detach`, the one that was started ends
    here, and the other lets go of the terminal and the streams of whoever started us."""
    pid = os.fork() if detach else os.getpid()
    if pidfile and pid:
        Path(pidfile).write_text(f"{pid}\n", encoding="ascii")
    if not detach:
        return
    if pid:
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0,) if keep_output else (0, 1, 2):
        os.dup2(nowhere, stream)
