"""Our standard streams, between the user and a process in the machine."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from wanlab.errors import WanlabError

CHUNK = 1 << 16
# How much input may be on its way to a process that does not read.
WINDOW_BYTES = 1 << 20
# How much output is discarded before we give up on a process that writes although nobody reads.
MAX_LOST_BYTES = 64 << 20


IPERF3_RESET = b"unable to receive control message: Connection reset"
IPERF3_HINT = (
    "iperf3's server was still busy with the client before: starting a program takes no virtual time. "
    "Put `sleep 0.001` between the clients, or give the nodes a processor: --cpu server-2019 "
    "(wanlab docs limitations)"
)


class Abandoned(Exception):  # noqa: N818  (like KeyboardInterrupt, not an error)
    """A process keeps writing although nobody reads its output."""


class Output:
    """Passes output on to one of our file descriptors until its reader has gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.is_gone = False
        self.written_bytes = 0
        self.lost_bytes = 0
        self.has_iperf3_reset = False
        """Whether an iperf3 client said that its server closed the connection."""
        self.error = ""
        """Why output could not be written; "" if its reader has simply gone."""
        self._is_abandoned = False
        self.instead: Callable[[bytes], None] | None = None
        """Receives all output while the line editor uses our terminal."""

    def write(self, data: bytes) -> None:
        """Write output; a slow reader makes the machine wait.

        Raises Abandoned once, if the process keeps writing after its reader has gone.
        """
        view = memoryview(data)
        self.written_bytes += len(data)
        self.has_iperf3_reset |= IPERF3_RESET in data
        if self.instead is not None:
            self.instead(data)
            return
        while view and not self.is_gone:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.is_gone = True
                if error.errno != errno.EPIPE:
                    self.error = error.strerror or str(error)
        self.lost_bytes += len(view)
        if self.lost_bytes > MAX_LOST_BYTES and not self._is_abandoned:
            self._is_abandoned = True
            raise Abandoned


def print_hints(*outputs: Output) -> None:
    """Explain a message of a program that looks like a fault of the network and is none."""
    if any(output.has_iperf3_reset for output in outputs):
        print(f"wanlab: {IPERF3_HINT}", file=sys.stderr)


def is_same_file(a: int, b: int) -> bool:
    """Whether two file descriptors refer to the same file, as after 2>&1."""
    return os.path.samestat(os.fstat(a), os.fstat(b))


class InputSink(Protocol):
    """A process that reads input."""

    def write(self, data: bytes) -> None: ...

    def end_input(self) -> None: ...

    def input_left_bytes(self) -> int | None: ...


class Input:
    """Passes our standard input on as it arrives and as the process reads it.

    A file, and the data that a pipe holds at the start, are passed on before any time passes, so that
    a run does not depend on when they are read.
    """

    def __init__(self, sink: InputSink, descriptor: int = 0) -> None:
        self._sink = sink
        self._descriptor = descriptor
        self._sent_bytes = 0
        self.is_open = True
        self.is_wanted = False
        """False, because input is passed on without a request (see PromptInput)."""
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise WanlabError("standard input is a directory")
        if os.path.samestat(os.fstat(descriptor), Path(os.devnull).stat()):
            self._end()

    def pass_on(self) -> bool:
        """Pass on input; return whether there was some."""
        moved = False
        while self.is_open and self.wait(0) and self._has_credit():
            data = self._read()
            moved = True
            if data:
                self._sent_bytes += len(data)
                self._sink.write(data)
            else:
                self._end()
        return moved

    def wait(self, real_s: float) -> bool:
        """Wait for input, at most `real_s` seconds; return whether there is some."""
        return self.is_open and bool(select.select([self._descriptor], [], [], real_s)[0])

    def _has_credit(self) -> bool:
        """Whether more input may be sent. Asks the process, which is slow, only for a full window."""
        if self._sent_bytes < WINDOW_BYTES:
            return True
        left_bytes = self._sink.input_left_bytes()
        if left_bytes is None:
            self.is_open = False
            return False
        self._sent_bytes = left_bytes
        return left_bytes < WINDOW_BYTES

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK)
        except BlockingIOError:  # another process has read it
            return b""
        except OSError as error:
            raise WanlabError(f"cannot read standard input: {error.strerror}") from None

    def _end(self) -> None:
        self.is_open = False
        self._sink.end_input()
