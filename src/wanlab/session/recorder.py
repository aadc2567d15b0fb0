"""Writes a session file while a machine runs.

Each line is written immediately by one call, so the file of a killed session lacks at most its last
line. Recording happens outside the machine, while its time stands still, so it changes nothing inside.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from wanlab.agent.messages import Frame, FrameReader, Kind
from wanlab.shared_folder import HERE, file_error, open_output, output_folder

from .frames import RecordedFrame
from .lines import FIRST_SUM, Line, write_line

MAX_KEPT_BYTES = 16 << 20
"""The output of a process is recorded up to this length, and so is the data of all requests; of what
follows, only digests."""
REQUESTS = -1
"""Stands for all requests, among the numbers of processes."""


class SessionRecorder:
    """Writes the session file `target`, which is replaced, or an unnamed temporary file.

    `shared` is the working folder of the network, where programs could put a link of that name.
    """

    def __init__(self, target: Path | None, shared: Path = HERE) -> None:
        self._shared = shared
        self.path = target
        self.clock: Callable[[], int] = lambda: 0
        """Returns the time on the machine's clock."""
        self._reader = FrameReader()
        self._unfinished_bytes = 0
        self._is_cut = False
        self._sum = FIRST_SUM
        self._kept_bytes: dict[int, int] = {}
        self._measured: set[int] = set()
        try:
            with self._new_file(target) as file:
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            raise file_error(
                "write",
                f"the session file {target}",
                error,
                "choose a file in a folder that you can write to",
            ) from None
        self._owner = os.getpid()
        self._is_open = True

    def _new_file(self, target: Path | None) -> IO[bytes]:
        if target is None:
            return tempfile.TemporaryFile()
        return open_output(target, self._shared, 0o600, is_read=True)

    def write(self, values: Line) -> None:
        """Write a line. If that fails, report it once; the machine continues without being recorded."""
        if not self._is_open or os.getpid() != self._owner:
            return
        line, self._sum = write_line(values, self._sum)
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            print(
                f"wanlab: the session is no longer recorded: {self.path}: {error.strerror}",
                file=sys.stderr,
            )
            self._close()

    def note(self, what: str, value: object = None) -> None:
        """Write a line about an event that is not a frame: a new topology, a step, the end."""
        self.write({"at": self.clock(), what: value})

    def sent(self, data: bytes) -> None:
        """Write a line about bytes that were sent to the agent at once.

        The line contains the frames that end in these bytes. If the bytes are not whole frames, its
        "bytes" is their number.
        """
        frames = self._reader.feed(data)
        for frame in frames:
            if frame.kind is Kind.CALL and (call := frame.json())["do"] == "watch":
                self._measured.add(call["number"])
        lines = [RecordedFrame.of(frame).line() for frame in frames]
        values: Line = {"at": self.clock(), "in": lines}
        was_cut = self._is_cut
        self._is_cut = self._reader.has_begun
        if was_cut or self._is_cut:
            values["bytes"] = len(data)
        self.write(values)

    def received(self, frame: Frame) -> None:
        """Write a line about a frame from the agent."""
        line = RecordedFrame.of(frame, keeps_body=self._keeps(frame)).line()
        self.write({"at": self.clock(), "out": line})

    def _keeps(self, frame: Frame) -> bool:
        if frame.kind is Kind.DATA or (
            frame.number in self._measured and frame.kind is Kind.OUTPUT
        ):
            return False
        if frame.kind not in (Kind.OUTPUT, Kind.STDERR, Kind.REQUEST_DATA):
            return True
        # A program can make any number of requests: their data counts together.
        number = REQUESTS if frame.kind is Kind.REQUEST_DATA else frame.number
        kept_bytes = self._kept_bytes.get(number, 0) + len(frame.body)
        self._kept_bytes[number] = kept_bytes
        return kept_bytes <= MAX_KEPT_BYTES

    def content(self, *, is_whole: bool = False) -> bytes:
        """Return the file as it is now; empty if it is closed, as after a write that failed.

        With `is_whole`, it has the last line that it would get if the session ended now.
        """
        if not self._is_open:
            return b""
        content = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        return content + write_line(self._last_line(), self._sum)[0] if is_whole else content

    def end(self) -> None:
        """Write the last line, and close the file."""
        if self._is_open:
            self.write(self._last_line())
            self._close()

    def _last_line(self) -> Line:
        return {"at": self.clock(), "end": None}

    def abandon(self) -> None:
        """Close the file and remove it."""
        self._close()
        if self.path is not None:
            with suppress(FileNotFoundError):
                output_folder(self.path.parent, self._shared).remove(self.path.name)

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._descriptor)
