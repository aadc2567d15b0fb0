"""Keep the output of a terminal with its instants, to show an earlier state and to continue from it."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from wanlab import Process

from ..protocol.branches import RecordedTerminal, TranscriptChunk

MAX_KEPT_BYTES = 4 << 20
"""The output kept of a terminal; if there is more, the older half is dropped."""


class Transcript:
    """The output of one terminal. The network's thread writes it, any thread reads it."""

    def __init__(self, chunks: Iterable[tuple[int, bytes]] = ()) -> None:
        self._chunks = list(chunks)
        self.dropped_bytes = 0
        """The number of bytes of the oldest output that were dropped."""
        self._kept_bytes = sum(len(data) for _, data in self._chunks)
        self._lock = threading.Lock()

    def add(self, now_ns: int, data: bytes) -> None:
        """Note output of this instant."""
        with self._lock:
            self._chunks.append((now_ns, data))
            self._kept_bytes += len(data)
            if self._kept_bytes > MAX_KEPT_BYTES:
                self._drop_older_half()

    def _drop_older_half(self) -> None:
        count = 0
        while self._kept_bytes > MAX_KEPT_BYTES // 2 and count < len(self._chunks) - 1:
            self._kept_bytes -= len(self._chunks[count][1])
            self.dropped_bytes += len(self._chunks[count][1])
            count += 1
        del self._chunks[:count]

    def until(self, time_ns: int) -> Transcript:
        """Return the output up to an instant."""
        with self._lock:
            count = bisect.bisect_right(self._chunks, time_ns, key=lambda chunk: chunk[0])
            earlier = Transcript(self._chunks[:count])
        earlier.dropped_bytes = self.dropped_bytes
        return earlier

    @property
    def written_bytes(self) -> int:
        """The total number of bytes written."""
        return self.dropped_bytes + self._kept_bytes

    def timed(self) -> list[tuple[int, bytes]]:
        """Return the output that is kept, with its instants."""
        with self._lock:
            return list(self._chunks)

    def chunks(self) -> tuple[TranscriptChunk, ...]:
        """Return the output as browsers receive it, joined by instants."""
        joined: dict[int, list[bytes]] = {}
        with self._lock:
            for now_ns, data in self._chunks:
                joined.setdefault(now_ns, []).append(data)
        return tuple(
            TranscriptChunk(now_ns, b"".join(parts).decode("latin-1"))
            for now_ns, parts in joined.items()
        )


@dataclass
class TerminalRecord:
    """A terminal in one branch, from when it was opened. Instants are those of the network's clock.

    credits   how much its program might print in all, by the instants at which that was raised
    """

    name: str
    node: str
    title: str
    process: Process
    opened_ns: int
    closed_ns: int | None = None
    transcript: Transcript = field(default_factory=Transcript)
    credits: list[tuple[int, int]] = field(default_factory=list)

    def is_open_at(self, time_ns: int) -> bool:
        """Return whether the terminal was open at an instant."""
        return self.opened_ns <= time_ns and (self.closed_ns is None or self.closed_ns > time_ns)

    def credited_bytes(self) -> int:
        """Return how many bytes its program may print beyond the first window."""
        return self.credits[-1][1] if self.credits else 0

    def until(self, time_ns: int) -> TerminalRecord:
        """Return the record up to an instant at which it was open."""
        return TerminalRecord(
            self.name,
            self.node,
            self.title,
            self.process,
            self.opened_ns,
            None,
            self.transcript.until(time_ns),
            [credit for credit in self.credits if credit[0] <= time_ns],
        )

    def recorded(self) -> RecordedTerminal:
        """Return the terminal as browsers receive it."""
        return RecordedTerminal(
            id=self.name,
            node=self.node,
            title=self.title,
            opened_ns=self.opened_ns,
            closed_ns=self.closed_ns,
            output=self.transcript.chunks(),
        )
