"""What is drawn from a seed: times between arrivals, and sizes with heavy tails.

    10KB                          always the same
    exponential:10KB              exponential with this mean
    pareto:1.2,1KB,10MB           bounded Pareto: shape, least, most
    FILE                          empirical: lines "SIZE PROBABILITY", the second growing to 1 (or 100)

Bounded Pareto, by inversion of F(x) = (1 - (L/x)^a) / (1 - (L/H)^a); its mean is
a L^a (L^(1-a) - H^(1-a)) / ((a - 1) (1 - (L/H)^a)) (Harchol-Balter, Crovella, Murta 1999).

An empirical distribution is linear between its points, as the published ones are drawn (web search,
data mining). Its lines have a size in bytes, or in the units of options, and may have a column between
the two (ns-2 writes one there).
"""

from __future__ import annotations

import math
from _random import Random  # `random` loads much that is not needed here

from .words import UsageError, size, some


class Sizes:
    """A distribution of sizes in bytes."""

    mean_bytes: float

    def draw(self, numbers: Random) -> int:
        raise NotImplementedError


class Fixed(Sizes):
    """Always the same."""

    def __init__(self, bytes: int) -> None:
        self.mean_bytes = float(bytes)
        self._bytes = bytes

    def draw(self, numbers: Random) -> int:
        return self._bytes


class Exponential(Sizes):
    """Without memory."""

    def __init__(self, mean_bytes: float) -> None:
        self.mean_bytes = mean_bytes

    def draw(self, numbers: Random) -> int:
        return max(1, round(exponential(numbers, self.mean_bytes)))


class BoundedPareto(Sizes):
    """Many small ones, and a few that carry most of the bytes."""

    def __init__(self, shape: float, least: int, most: int) -> None:
        if not (shape > 0 and 0 < least < most):
            raise UsageError("a bounded Pareto has a shape above 0, and its least below its most")
        self._shape, self._least = shape, least
        self._covered = 1 - (least / most) ** shape
        if shape == 1:
            mean = least / self._covered * math.log(most / least)
        else:
            ends = float(least) ** (1 - shape) - float(most) ** (1 - shape)
            mean = shape * float(least) ** shape * ends / ((shape - 1) * self._covered)
        self.mean_bytes = mean

    def draw(self, numbers: Random) -> int:
        below = numbers.random() * self._covered
        return round(float(self._least * (1 - below) ** (-1 / self._shape)))


class Empirical(Sizes):
    """As somebody has measured them."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        """(size in bytes, probability of at most that)"""
        self._points = points
        mean = points[0][0] * points[0][1]
        before, below = points[0]
        for at, upto in points:
            mean += (before + at) / 2 * (upto - below)
            before, below = at, upto
        self.mean_bytes = mean

    def draw(self, numbers: Random) -> int:
        wanted = numbers.random()
        low, below = self._points[0]
        for high, upto in self._points:
            if wanted <= upto:
                part = (wanted - below) / (upto - below) if upto > below else 1.0
                return max(1, round(low + (high - low) * part))
            low, below = high, upto
        return max(1, round(low))


def read_sizes(text: str) -> Sizes:
    """The distribution that a word of the command line names."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "pareto":
        parts = rest.split(",")
        try:
            shape, least, most = float(parts[0]), size(parts[1]), size(parts[2])
        except (ValueError, IndexError):
            hint = 'write "pareto:SHAPE,LEAST,MOST", as in pareto:1.2,1KB,10MB'
            raise UsageError(f'"{text}": {hint}') from None
        return BoundedPareto(shape, least, most)
    if colon and kind == "exponential":
        return Exponential(some(size)(rest))
    if text[:1].isdecimal():
        return Fixed(some(size)(text))
    return read_empirical(text)


def read_empirical(path: str) -> Empirical:
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise UsageError(f"cannot read the sizes in {path}: {error.strerror}") from None
    points: list[tuple[float, float]] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            at = float(words[0]) if words[0][-1].isdecimal() else float(size(words[0]))
            upto = float(words[-1])
        except (ValueError, UsageError):
            at, upto = math.nan, 0.0
        is_after = not points or (at >= points[-1][0] and upto >= points[-1][1])
        if len(words) not in (2, 3) or not at >= 0 or not is_after:
            raise UsageError(
                f'{path}, line {number}: "{line.strip()}" is no size and probability, both growing'
            )
        points.append((at, upto))
    whole = points[-1][1] if points else 0.0
    if whole not in (1.0, 100.0):
        raise UsageError(f"{path}: the last probability is {whole:g}, and has to be 1 (or 100)")
    if not points[-1][0] > 0:
        raise UsageError(f"{path}: all sizes are 0")
    return Empirical([(at, upto / whole) for at, upto in points])


def exponential(numbers: Random, mean: float) -> float:
    return -mean * math.log(1.0 - numbers.random())


def arrivals(numbers: Random, per_second: float, until_ns: int) -> list[int]:
    """Instants of a Poisson process, in ns."""
    found: list[int] = []
    at_ns = 0.0
    while True:
        at_ns += exponential(numbers, 1e9 / per_second)
        if at_ns >= until_ns:
            return found
        found.append(round(at_ns))
