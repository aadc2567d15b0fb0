"""The samples of the last minutes, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..protocol.commands import SeriesKind, WatchedSeries
from ..protocol.messages import SampleColumn

MAX_POINTS = 6000
"""The points kept of a curve: ten minutes at ten samples a second."""
MAX_POINTS_OF_ALL = 3_000_000
MAX_CURVES = 20_000
MAX_POINTS_SENT = 60
"""The points of a curve in a batch: time may pass much faster than a chart can show."""

Sample = tuple[float, float | None]


class CurveKey(NamedTuple):
    """The quantity that a curve shows."""

    kind: SeriesKind
    port: str
    flow: str


class CurveMemory:
    """Keeps the last samples of each curve. When there are too many curves, the oldest is dropped."""

    def __init__(self) -> None:
        self._samples: dict[CurveKey, deque[Sample]] = {}
        self._units: dict[SeriesKind, str] = {}

    def last_values(self, kind: SeriesKind) -> dict[str, float]:
        """Return the last value of each port's curve of a kind."""
        return {
            key.port: samples[-1][1] or 0.0
            for key, samples in self._samples.items()
            if key.kind == kind and samples
        }

    def curves(self) -> list[tuple[CurveKey, list[Sample]]]:
        """Return all curves with their samples."""
        return [(key, list(samples)) for key, samples in list(self._samples.items())]

    def unit(self, kind: SeriesKind) -> str:
        """Return the unit of a kind; "" if there is no curve of it."""
        return self._units.get(kind, "")

    def until(self, time_s: float) -> CurveMemory:
        """Return a memory with the samples up to an instant."""
        earlier = CurveMemory()
        earlier._units = dict(self._units)
        for key, samples in self._samples.items():
            kept = deque(sample for sample in samples if sample[0] <= time_s)
            if kept:
                earlier._samples[key] = kept
        return earlier

    def add(self, column: SampleColumn) -> bool:
        """Keep samples; return whether there are any."""
        key = CurveKey(column.kind, column.port, column.flow)
        samples = self._samples.get(key)
        if samples is None:
            samples = self._samples[key] = deque()
            if len(self._samples) > MAX_CURVES:
                del self._samples[next(iter(self._samples))]
        self._units[column.kind] = column.unit
        samples.extend(zip(column.times_s, column.values, strict=True))
        limit = min(MAX_POINTS, MAX_POINTS_OF_ALL // len(self._samples))
        while len(samples) > limit:
            samples.popleft()
        return bool(column.times_s)

    def columns(self, series: Iterable[WatchedSeries]) -> Iterator[SampleColumn]:
        """Yield the stored points of these series; a series without a port stands for all ports."""
        wanted = set(series)
        for key, samples in self._samples.items():
            if samples and wanted & {
                WatchedSeries(key.kind, key.port),
                WatchedSeries(key.kind),
            }:
                times, values = zip(*samples, strict=True)
                yield SampleColumn(*key, self._units[key.kind], times, values)


def thinned(column: SampleColumn) -> SampleColumn:
    """Return a column with at most as many samples as one message may have."""
    count = len(column.times_s)
    if count <= MAX_POINTS_SENT:
        return column
    step = -(-count // MAX_POINTS_SENT)
    rows = range((count - 1) % step, count, step)
    return SampleColumn(
        column.kind,
        column.port,
        column.flow,
        column.unit,
        tuple(column.times_s[row] for row in rows),
        tuple(column.values[row] for row in rows),
    )
