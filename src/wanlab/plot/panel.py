"""The data of a panel: lines over time in one unit. `figure` draws them.

A sampled line may have more readings than the figure has pixels. Of the readings that fall on one
pixel, `decimate` keeps the first, the lowest, the highest and the last, which gives the same picture
as all readings, peaks included (the "M4" aggregation: Jugel et al., VLDB 2014).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity over time; the times never go back. `points` draws readings without a line."""

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
    """Lines with one vertical axis, and the warnings of the record that they come from."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    limits: tuple[Limit, ...] = ()
    warnings: tuple[str, ...] = ()


def decimate(times_s: Values, values: Values, pixels: int) -> tuple[Values, Values]:
    """Return at most four readings per pixel, or all of them if there are no more than that."""
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
    """Return the empirical CDF of a line's values as a staircase: values against shares."""
    values = np.sort(line.values[np.isfinite(line.values)])
    shares = np.arange(len(values) + 1) / max(1, len(values))
    return Line(line.label, np.repeat(values, 2), np.repeat(shares, 2)[1:-1])
