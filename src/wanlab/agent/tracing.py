"""Events of the kernel, as they happen: an instance of its tracing (tracefs) of our own.

Each instance has a ring of pages per processor. What is read of it are pages as they are; their layout
is understood on the other side. In the embedded machine the clock "um" (our patch) stamps events
without letting virtual time pass; the others would, for events that a process causes. A call that fails
takes time there, too (1 us): so we ask first whether there is something to read, and open files without
`open`, which tries whether they are terminals.
"""

from __future__ import annotations

import contextlib
import os
import struct

from .timers import TICKS

TRACING = "/sys/kernel/tracing"
PAGE_BYTES = 4096
VIRTUAL_CLOCK, REAL_CLOCK = "um", "mono"
LEAST_FULL_BYTES = 3500  # a page with less has room for any event
LENGTH_MASK = (1 << 30) - 1

_LENGTH = struct.Struct("=8xI")  # in the header of a page, after the time


class EventTrace:
    """Some events, each with a filter ("" is none), from now on until it is closed."""

    def __init__(self, name: str, events: dict[str, str], ring_bytes: int) -> None:
        if not os.path.isdir(f"{TRACING}/instances"):
            raise OSError(0, "this machine's kernel does not let us trace its events")
        self._folder = f"{TRACING}/instances/{name}"
        os.mkdir(self._folder)
        self._rings: list[int] = []
        self._counts: list[int] = []
        try:
            self.clock = self._choose_clock()
            self._write("options/overwrite", "0")
            processors = os.listdir(f"{self._folder}/per_cpu")
            self._write("buffer_size_kb", str(ring_bytes // 1024 // len(processors)))
            self._rings = [
                os.open(
                    f"{self._folder}/per_cpu/{processor}/trace_pipe_raw",
                    os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC,
                )
                for processor in sorted(processors)
            ]
            self._counts = [
                os.open(f"{self._folder}/per_cpu/{processor}/stats", os.O_RDONLY | os.O_CLOEXEC)
                for processor in sorted(processors)
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

    def about(self) -> dict[str, object]:
        return {"clock": self.clock, "formats": self.formats}

    def drain(self) -> bytes:
        """The pages that were filled since the last call, the unfinished ones too."""
        pages = []
        for ring, counts in zip(self._rings, self._counts, strict=True):
            while self._is_filled(counts):
                page = os.read(ring, PAGE_BYTES)
                pages.append(page)
                if _LENGTH.unpack_from(page)[0] & LENGTH_MASK < LEAST_FULL_BYTES:
                    break  # it was the one that is being written
        return b"".join(pages)

    def _is_filled(self, counts: int) -> bool:
        """Whether there are events to read. Not by poll(): that makes the next event wake us."""
        return not os.pread(counts, 20, 0).startswith(b"entries: 0\n")

    def stop(self) -> None:
        """No more events; what there is can still be drained."""
        for event in self._events:
            self._write(f"events/{event}/enable", "0")

    def lost(self) -> int:
        """Events for which there was no room."""
        count = 0
        for processor in os.listdir(f"{self._folder}/per_cpu"):
            for line in self._read(f"per_cpu/{processor}/stats").splitlines():
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
        offered = self._read("trace_clock").replace("[", " ").replace("]", " ").split()
        is_virtual = os.path.exists(TICKS) and VIRTUAL_CLOCK in offered
        clock = VIRTUAL_CLOCK if is_virtual else REAL_CLOCK
        self._write("trace_clock", clock)
        return clock

    def _read(self, name: str) -> str:
        descriptor = os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = []
            while part := os.read(descriptor, 65536):
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
