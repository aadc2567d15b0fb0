"""Random sizes of transfers, and the times of a Poisson process.

    10KB                          constant
    exponential:10KB              exponential with this mean
    pareto:1.2,1KB,10MB           bounded Pareto: shape, minimum L, maximum H
    FILE                          empirical: lines "SIZE PROBABILITY", cumulative up to 1 (or 100)

Bounded Pareto, by inversion of F(x) = (1 - (L/x)^a) / (1 - (L/H)^a); its mean is
a L^a (L^(1-a) - H^(1-a)) / ((a - 1) (1 - (L/H)^a)) (Harchol-Balter, Crovella, Murta 1999).

An empirical distribution is linear between its points, like the published ones (web search, data
mining). A size without a unit is in bytes. A line may have another column between size and
probability, as files of ns-2 do.
"""

from __future__ import annotations

import math
from _random import Random  # `random` takes long to load

from .arguments import UsageError, positive, size


class Sizes:
    """A distribution of sizes in bytes."""

    mean_bytes: float

    def draw(self, numbers: Random) -> int:
        raise NotImplementedError


class Constant(Sizes):
    """Always the same size."""

    def __init__(self, bytes: int) -> None:
        self.mean_bytes = float(bytes)
        self._bytes = bytes

    def draw(self, numbers: Random) -> int:
        return self._bytes


class Exponential(Sizes):
    """Exponentially distributed sizes."""

    def __init__(self, mean_bytes: float) -> None:
        self.mean_bytes = mean_bytes

    def draw(self, numbers: Random) -> int:
        return max(1, round(exponential(numbers, self.mean_bytes)))


class BoundedPareto(Sizes):
    """Many small sizes, and a few large ones that carry most of the bytes."""

    def __init__(self, shape: float, min_bytes: int, max_bytes: int) -> None:
        if not (shape > 0 and 0 < min_bytes < max_bytes):
            raise UsageError("a bounded Pareto needs a shape above 0 and MIN below MAX")
        self._shape, self._min_bytes = shape, min_bytes
        self._normalization = 1 - (min_bytes / max_bytes) ** shape
        if shape == 1:
            mean = min_bytes / self._normalization * math.log(max_bytes / min_bytes)
        else:
            ends = float(min_bytes) ** (1 - shape) - float(max_bytes) ** (1 - shape)
            mean = shape * float(min_bytes) ** shape * ends / ((shape - 1) * self._normalization)
        self.mean_bytes = mean

    def draw(self, numbers: Random) -> int:
        scaled = numbers.random() * self._normalization
        return round(float(self._min_bytes * (1 - scaled) ** (-1 / self._shape)))


class Empirical(Sizes):
    """A measured distribution: points of its cumulative distribution function."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        """Take points (size in bytes, probability of at most that size), both ascending."""
        self._points = points
        mean = points[0][0] * points[0][1]
        previous_size, previous = points[0]
        for size_bytes, cumulative in points:
            mean += (previous_size + size_bytes) / 2 * (cumulative - previous)
            previous_size, previous = size_bytes, cumulative
        self.mean_bytes = mean

    def draw(self, numbers: Random) -> int:
        probability = numbers.random()
        low, previous = self._points[0]
        for high, cumulative in self._points:
            if probability <= cumulative:
                width = cumulative - previous
                fraction = (probability - previous) / width if width > 0 else 1.0
                return max(1, round(low + (high - low) * fraction))
            low, previous = high, cumulative
        return max(1, round(low))


def parse_sizes(text: str) -> Sizes:
    """Return the distribution that an argument describes. Raises UsageError if it describes none."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "pareto":
        parts = rest.split(",")
        try:
            shape, min_bytes, max_bytes = float(parts[0]), size(parts[1]), size(parts[2])
        except (ValueError, IndexError):
            hint = 'write "pareto:SHAPE,MIN,MAX", as in pareto:1.2,1KB,10MB'
            raise UsageError(f'"{text}": {hint}') from None
        return BoundedPareto(shape, min_bytes, max_bytes)
    if colon and kind == "exponential":
        return Exponential(positive(size)(rest))
    if text[:1].isdecimal():
        return Constant(positive(size)(text))
    return read_empirical(text)


def read_empirical(path: str) -> Empirical:
    """Read a distribution from a file. Raises UsageError with the number of the first wrong line."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise UsageError(f"cannot read the sizes in {path}: {error.strerror}") from None
    points: list[tuple[float, float]] = []
    for number, line in enumerate(lines, 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        try:
            size_bytes = float(fields[0]) if fields[0][-1].isdecimal() else float(size(fields[0]))
            cumulative = float(fields[-1])
        except (ValueError, UsageError):
            size_bytes, cumulative = math.nan, 0.0
        is_ascending = not points or (size_bytes >= points[-1][0] and cumulative >= points[-1][1])
        if len(fields) not in (2, 3) or not size_bytes >= 0 or not is_ascending:
            raise UsageError(
                f'{path}, line {number}: "{line.strip()}" is not a size and a cumulative '
                "probability, both ascending"
            )
        points.append((size_bytes, cumulative))
    total = points[-1][1] if points else 0.0
    if total not in (1.0, 100.0):
        raise UsageError(f"{path}: the last probability must be 1 (or 100), not {total:g}")
    if not points[-1][0] > 0:
        raise UsageError(f"{path}: all sizes are 0")
    return Empirical([(size_bytes, cumulative / total) for size_bytes, cumulative in points])


def exponential(numbers: Random, mean: float) -> float:
    """Draw from the exponential distribution with this mean, by inversion."""
    return -mean * math.log(1.0 - numbers.random())


def arrivals(numbers: Random, per_second: float, until_ns: int) -> list[int]:
    """Return the times of a Poisson process, in ns, before `until_ns`."""
    times_ns: list[int] = []
    time_ns = 0.0
    while True:
        time_ns += exponential(numbers, 1e9 / per_second)
        if time_ns >= until_ns:
            return times_ns
        times_ns.append(round(time_ns))
