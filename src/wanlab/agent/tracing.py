"""Records kernel events as they happen, with a tracefs instance of our own.

Each instance has a ring of pages per CPU. Pages are sent as they are; `wanlab.measure` decodes them
outside the machine. In the embedded machine the clock "um" (our patch) stamps events with virtual time.
We check first whether there is something to read, and use os.open instead of `open`, which asks whether
a file is a terminal: both save system calls.
"""

from __future__ import annotations

import contextlib
import os
import struct

from .messages import CHUNK_BYTES
from .ticker import TICKS

TRACING = "/sys/kernel/tracing"
PAGE_BYTES = 4096
VIRTUAL_CLOCK, REAL_CLOCK = "um", "mono"
MIN_FULL_BYTES = 3500  # a page that holds less has space for any event
LENGTH_MASK = (1 << 30) - 1

_LENGTH = struct.Struct("=8xI")  # in the header of a page, after the time


class EventTrace:
    """Records `events`, each with a filter ("" is none), until it is closed. OSError if not allowed."""

    def __init__(self, name: str, events: dict[str, str], ring_bytes: int) -> None:
        if not os.path.isdir(f"{TRACING}/instances"):
            raise OSError(0, "this machine's kernel does not allow tracing its events")
        self._folder = f"{TRACING}/instances/{name}"
        os.mkdir(self._folder)
        self._rings: list[int] = []
        self._counts: list[int] = []
        try:
            self.clock = self._choose_clock()
            self._write("options/overwrite", "0")
            cpus = os.listdir(f"{self._folder}/per_cpu")
            self._write("buffer_size_kb", str(ring_bytes // 1024 // len(cpus)))
            self._rings = [
                os.open(
                    f"{self._folder}/per_cpu/{cpu}/trace_pipe_raw",
                    os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC,
                )
                for cpu in sorted(cpus)
            ]
            self._counts = [
                os.open(f"{self._folder}/per_cpu/{cpu}/stats", os.O_RDONLY | os.O_CLOEXEC)
                for cpu in sorted(cpus)
            ]
            self.formats = {event: self._read(f"events/{event}/format") for event in events}
            for event, condition in events.items():
                if condition:
                    self._write(f"events/{event}/filter", condition)
            for event in events:
                self._write(f"events/{event}/enable", "1")
        except BaseException:
            self.close()
            raise
        self._events = list(events)

    def describe(self) -> dict[str, object]:
        """Return the clock of the events' times, and the format of each event."""
        return {"clock": self.clock, "formats": self.formats}

    def drain(self) -> bytes:
        """Return the pages written since the last call, incomplete ones too."""
        pages = []
        for ring, counts in zip(self._rings, self._counts, strict=True):
            while self._has_events(counts):
                page = os.read(ring, PAGE_BYTES)
                pages.append(page)
                if _LENGTH.unpack_from(page)[0] & LENGTH_MASK < MIN_FULL_BYTES:
                    break  # the kernel is still writing this page
        return b"".join(pages)

    def _has_events(self, counts: int) -> bool:
        """Whether there are events to read. poll() would make the next event wake us."""
        return not os.pread(counts, 20, 0).startswith(b"entries: 0\n")

    def stop(self) -> None:
        """Record no more events; those recorded can still be drained."""
        for event in self._events:
            self._write(f"events/{event}/enable", "0")

    def lost(self) -> int:
        """Return how many events did not fit into the rings."""
        count = 0
        for cpu in os.listdir(f"{self._folder}/per_cpu"):
            for line in self._read(f"per_cpu/{cpu}/stats").splitlines():
                name, _, number = line.partition(":")
                if name in ("overrun", "commit overrun", "dropped events"):
                    count += int(number)
        return count

    def close(self) -> None:
        for descriptor in (*self._rings, *self._counts):
            os.close(descriptor)
        self._rings, self._counts = [], []
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)

    def _choose_clock(self) -> str:
        clocks = self._read("trace_clock").replace("[", " ").replace("]", " ").split()
        is_virtual = os.path.exists(TICKS) and VIRTUAL_CLOCK in clocks
        clock = VIRTUAL_CLOCK if is_virtual else REAL_CLOCK
        self._write("trace_clock", clock)
        return clock

    def _read(self, name: str) -> str:
        descriptor = os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = []
            while part := os.read(descriptor, CHUNK_BYTES):
                parts.append(part)
            return b"".join(parts).decode("ascii")
        finally:
            os.close(descriptor)

    def _write(self, name: str, text: str) -> None:
        descriptor = os.open(f"{self._folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
