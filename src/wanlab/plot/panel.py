"""What a panel shows, as data: lines over time in one unit. How it is drawn is in `figure`.

A sampled line may have more readings than the figure has pixels. `decimate` keeps, of the readings
that fall on one pixel, the first, the lowest, the highest and the last: the picture is that of all
readings, peaks included (the "M4" reduction: Jugel et al., VLDB 2014).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity over time; the times never go back. `points` draws single readings, unjoined."""

    label: str
    times_s: Values
    values: Values
    points: bool = False


@dataclass(frozen=True)
class Limit:
    """A value that the lines cannot or should not pass; drawn dashed."""

    label: str
    value: float


@dataclass(frozen=True)
class Panel:
    """Lines with one axis. `warnings` are those of the record that they come from."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    limits: tuple[Limit, ...] = ()
    warnings: tuple[str, ...] = ()


def decimate(times_s: Values, values: Values, pixels: int) -> tuple[Values, Values]:
    """At most four readings for each of the pixels; all of them if they are no more than that."""
    if len(times_s) <= 4 * pixels:
        return times_s, values
    edges = np.linspace(times_s[0], times_s[-1], pixels + 1)[1:-1]
    bounds = [0, *np.searchsorted(times_s, edges).tolist(), len(times_s)]
    keep: set[int] = set()
    for start, stop in pairwise(bounds):
        if start < stop:
            part = values[start:stop]
            lowest, highest = np.argmin(part), np.argmax(part)  # a NaN is both: the gap stays
            keep.update((start, start + int(lowest), start + int(highest), stop - 1))
    index = np.array(sorted(keep))
    return times_s[index], values[index]


def cumulative(line: Line) -> Line:
    """The line's values in order, each with the share of them that is no larger: a staircase."""
    values = np.sort(line.values[np.isfinite(line.values)])
    shares = np.arange(len(values) + 1) / max(1, len(values))
    places = np.repeat(values, 2)
    return Line(line.label, places, np.repeat(shares, 2)[1:-1])
