"""`wanlab exec`: one command in a fresh machine, as if it ran here."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from wanlab import Network, Process, Topology

from . import topologies
from .topologies import one_of

CHUNK = 65536
STRIDE_NS = 10_000_000


def run(
    command: list[str], *, topo: str | None, node: str, clock: str, wire: str, seed: int
) -> int:
    """Returns the command's exit status; 128 + N if signal N ended it, as a shell does."""
    topology = topologies.read(topo) if topo else Topology()
    network = Network(
        topology,
        clock=one_of("clock", clock, ("virtual", "real")),  # type: ignore[arg-type]
        wire=one_of("wire", wire, ("mtu", "gso")),  # type: ignore[arg-type]
        seed=seed,
    )
    with network:
        place = network.root if node == "root" else network[node]
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        process = place.start(
            command,
            stdin=True,
            terminal=_terminal_size() if terminal else None,
            environment={"TERM": os.environ.get("TERM", "dumb")} if terminal else None,
            on_output=_writer(sys.stdout.buffer),
            on_errors=_writer(sys.stderr.buffer),
        )
        status = _attend(network, process, terminal)
    return status if status >= 0 else 128 - status


def _attend(network: Network, process: Process, terminal: bool) -> int:
    """Lets time pass until it ends, passing on what is typed and pressed here."""
    if terminal:
        from .terminal import attend

        return attend(network, process)
    stdin = _Input(process)
    while process.is_running:
        try:
            stdin.pass_on()
            network.run_until_condition(lambda: not process.is_running, STRIDE_NS)
        except KeyboardInterrupt:
            process.signal(signal.SIGINT)
        except BrokenPipeError:
            process.signal(signal.SIGPIPE)
            _discard_stdout()
    return process.status or 0


class _Input:
    """Our standard input, as far as it has come. A file or nothing is passed on whole at once, so that a
    run does not depend on when it is read."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._open = True
        self._selector = selectors.DefaultSelector()
        try:
            mode = os.fstat(0).st_mode
        except OSError:  # closed
            self._end()
            return
        if stat.S_ISREG(mode) or os.path.samestat(os.fstat(0), Path(os.devnull).stat()):
            while data := os.read(0, CHUNK):
                process.write(data)
            self._end()
        else:
            self._selector.register(0, selectors.EVENT_READ)

    def pass_on(self) -> None:
        while self._open and self._selector.select(0):
            data = os.read(0, CHUNK)
            if not data:
                self._end()
                return
            self._process.write(data)

    def _end(self) -> None:
        self._open = False
        self._process.end_input()


def _writer(stream: IO[bytes]) -> Callable[[bytes], None]:
    """Passes bytes on at once."""

    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def _discard_stdout() -> None:
    """Whoever read our output has gone: what is left must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _terminal_size() -> tuple[int, int]:
    size = shutil.get_terminal_size()
    return size.lines, size.columns
