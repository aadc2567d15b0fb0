"""Our own standard streams, between the user and a process in the machine."""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from wanlab.errors import WanlabError

CHUNK = 1 << 16
# So much may be on its way to a process that does not read.
WINDOW_BYTES = 1 << 20
# So much may come for nobody, while the process cannot be told that nobody reads any more.
MOST_LOST_BYTES = 64 << 20


class Abandoned(Exception):  # noqa: N818  (as KeyboardInterrupt: no error)
    """The process writes for ever, and nobody reads."""


class Output:
    """Passes bytes on at once, to a descriptor of ours, until whoever reads them has gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.is_gone = False
        self.written_bytes = 0
        self.lost_bytes = 0
        self.error = ""
        """Why it could not be written, unless its reader has simply gone."""
        self._is_abandoned = False
        self.instead: Callable[[bytes], None] | None = None
        """Takes everything, while somebody else has our terminal."""

    def write(self, data: bytes) -> None:
        """Waits for a slow reader, and the machine with it. Abandoned, once, if it goes on for ever."""
        view = memoryview(data)
        self.written_bytes += len(data)
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
        if self.lost_bytes > MOST_LOST_BYTES and not self._is_abandoned:
            self._is_abandoned = True
            raise Abandoned


def are_one(a: int, b: int) -> bool:
    """Whether two descriptors lead to the same file, as after 2>&1."""
    return os.path.samestat(os.fstat(a), os.fstat(b))


class Sink(Protocol):
    """What takes input: a process."""

    def write(self, data: bytes) -> None: ...

    def end_input(self) -> None: ...

    def input_left_bytes(self) -> int | None: ...


class Input:
    """Our standard input, passed on as far as it has come and as far as the process takes it.

    A file, and what is in a pipe from the start, is passed on before any time passes, so that a run
    does not depend on when it is read.
    """

    def __init__(self, sink: Sink, descriptor: int = 0) -> None:
        self._sink = sink
        self._descriptor = descriptor
        self._sent_bytes = 0
        self.is_open = True
        self.is_wanted = False
        """Nobody asks for it: it is passed on."""
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise WanlabError("standard input is a folder")
        if os.path.samestat(os.fstat(descriptor), Path(os.devnull).stat()):
            self._end()

    def pass_on(self) -> bool:
        """Whether anything was."""
        moved = False
        while self.is_open and self.wait(0) and self._has_room():
            data = self._read()
            moved = True
            if data:
                self._sent_bytes += len(data)
                self._sink.write(data)
            else:
                self._end()
        return moved

    def wait(self, real_s: float) -> bool:
        """Whether there is something to read, now or soon."""
        return self.is_open and bool(select.select([self._descriptor], [], [], real_s)[0])

    def _has_room(self) -> bool:
        """Asked as seldom as the window allows: the answer takes a message there and back."""
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
        except BlockingIOError:  # somebody else was faster
            return b""
        except OSError as error:
            raise WanlabError(f"cannot read standard input: {error.strerror}") from None

    def _end(self) -> None:
        self.is_open = False
        self._sink.end_input()
