"""Import wanlab once, and fork a process for each program that a test starts with `forks.py`."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
import types
from functools import partial
from typing import Any

from wanlab.errors import WanlabError
from wanlab.machine.embedded import find_image
from wanlab.parent_death import end_with_parent

# Modules that most commands import. None may start a thread, which would not survive a fork.
PRELOADED = (
    "wanlab.cli.app",
    "wanlab.cli.execute",
    "wanlab.cli.inside",
    "typer._adapters",
    "wanlab.machine.embedded",
    "wanlab.labs.catalog",
    "wanlab.experiments",
    "wanlab.web.server.server",
    "wanlab.web.server.app",
    "uvicorn",
)
STREAMS = 3
MAX_REQUEST_BYTES = 1 << 20


def serve(channel: socket.socket) -> dict[str, Any]:
    """Answer each request with the id of a new process; return the request in that process."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, MAX_REQUEST_BYTES, STREAMS)
        if not data:
            os._exit(0)
        here, there = os.pipe()
        parent = os.fork()
        if parent == 0:
            parent = os.getpid()
            pid = os.fork()
            if pid:
                # The tests' process, the nearest ancestor that adopts orphans, becomes its parent.
                os.write(there, str(pid).encode())
                os._exit(0)
            while os.getppid() == parent:
                time.sleep(0.0005)
            end_with_parent(os.getppid())  # tests that are killed leave no programs behind
            use_streams(descriptors)
            for other in (channel.detach(), here, there):
                os.close(other)
            request: dict[str, Any] = json.loads(data)
            return request
        os.close(there)
        os.waitpid(parent, 0)
        channel.send(os.read(here, 99))
        os.close(here)
        for descriptor in descriptors:
            os.close(descriptor)


def use_streams(descriptors: list[int]) -> None:
    """Make the descriptors standard input, output and error."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)


def run(request: dict[str, Any]) -> None:
    """Run a program as `python3 -c CODE ARGUMENTS` does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["is_new_session"]:
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    reopen = partial(open, closefd=False)
    sys.stdin = sys.__stdin__ = reopen(0)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = reopen(1, "w")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = reopen(2, "w", 1, None, "backslashreplace")  # type: ignore[misc]
    sys.argv = ["-c", *request["arguments"]]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(compile(request["code"], "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the tests handle Ctrl-C
    for name in PRELOADED:
        with contextlib.suppress(ModuleNotFoundError):  # typer's inner modules may change
            importlib.import_module(name)
    with contextlib.suppress(WanlabError):
        find_image()  # this caches the digests of its files
    gc.collect()
    gc.freeze()
    run(serve(socket.socket(fileno=int(sys.argv[1]))))
