"""Start wanlab in a process that has already imported it, which saves half a second.

The process has its own streams, signals, folder and status. Tests of the start of an interpreter need
a new one: see tests/cli/test_main.py and `fresh=True`.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src"
SERVER = Path(__file__).with_name("fork_server.py")
PROGRAM = "from wanlab.cli import main; main()"
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
# Variables that configure an interpreter when it starts; they have no effect in a running one.
OF_INTERPRETERS = ("PYTHON", "LC_", "LANG")


class Forked(subprocess.Popen[Any]):
    """A process that was forked from one that has imported wanlab."""

    def __init__(self, code: str, arguments: Sequence[str], **options: Any) -> None:
        self._code = code
        super().__init__([code, *arguments], **options)

    def _execute_child(self, *words: Any) -> None:
        arguments, _, _, _, _, folder, environment = words[:7]
        ends = words[10:16]
        request = {
            "code": self._code,
            "arguments": arguments[1:],
            "folder": str(folder or Path.cwd()),
            "environment": dict(environment or os.environ),
            "is_new_session": bool(words[21]),
        }
        theirs = (ends[0], ends[3], ends[5])
        streams = [number if end == -1 else end for number, end in enumerate(theirs)]
        with adopting_orphans():
            channel = start_server()
            socket.send_fds(channel, [json.dumps(request).encode()], streams)
            self.pid = int(channel.recv(99))
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


@cache
def start_server() -> socket.socket:
    """Start the server that forks; it ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"},
    )
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Become the parent of descendants whose own parent ends."""
    libc = ctypes.CDLL(None)
    before = ctypes.c_int()
    assert libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before)) == 0
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, before.value)


def start(
    *arguments: str,
    code: str = PROGRAM,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    fresh: bool = False,
    **options: Any,
) -> subprocess.Popen[Any]:
    """Start wanlab, or other code; add `environment` to the tests' environment.

    before: words of a command that is to start it (`unshare`), for which it has to be a new
    interpreter, as with `fresh`.
    """
    added = environment or {}
    changes_interpreter = any(
        name.startswith(OF_INTERPRETERS) and os.environ.get(name) != value
        for name, value in added.items()
    )
    whole = {**os.environ, "PYTHONPATH": str(SOURCE), **added}
    if before or fresh or changes_interpreter:
        words = [*before, sys.executable, "-c", code, *arguments]
        return subprocess.Popen(words, env=whole, **options)
    return Forked(code, arguments, env=whole, **options)
