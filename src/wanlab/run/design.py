"""The runs of a sweep: points in the space of parameters, each with several seeds.

    Design.grid({"buffer": ["0.5bdp", "1bdp"], "algorithm": ["reno", "cubic"]}, repeats=3)
    Design.listed([{"rate": "10Mbps", "rtt": "100ms"}, {"rate": "1Gbps", "rtt": "5ms"}])
    Design.random(50, {"rate": Uniform("10Mbps", "1Gbps", logarithmic=True), "rtt": ["5ms", "50ms"]})

The rows of the sweep's table have the order of the design: points as they are written (the last
parameter of a grid varies fastest), and within each point its seeds. The order does not depend on how
the runs are performed.
"""

from __future__ import annotations

import math
import random as random_numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from wanlab.errors import WanlabError

Value = str | int | float | bool
"""The value of a parameter."""
Parameters = Mapping[str, Value]
DESIGN_KEYS = ("vary", "points", "random", "repeats")
"""The keys of a YAML file that describe a design."""
_WITH_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\s\d.]\S*)?\s*")
SIGNIFICANT_DIGITS = 4
MAX_RUNS = 100_000
"""Of a design. Runs of a second would take a day."""


@dataclass(frozen=True)
class Uniform:
    """A uniform distribution from `low` to `high`, both in the same unit: "10ms" to "200ms", 1 to 8.

    With `logarithmic` the logarithm of the value is uniform.
    """

    low: Value
    high: Value
    logarithmic: bool = False

    def draw(self, numbers: random_numbers.Random) -> Value:
        """Draw a value. It has four significant digits, so that people can read and type it.

        Raises WanlabError if the units differ or the range is empty.
        """
        low, unit = _split_unit(self.low)
        high, unit_of_high = _split_unit(self.high)
        if unit != unit_of_high:
            raise WanlabError(
                f"{self.low} and {self.high} have different units", "write both in the same unit"
            )
        if not low <= high or (self.logarithmic and low <= 0):
            raise WanlabError(
                f"there are no values from {self.low} to {self.high}",
                "the lower one comes first, and a logarithmic range begins above 0",
            )
        if self.logarithmic:
            drawn = math.exp(numbers.uniform(math.log(low), math.log(high)))
        else:
            drawn = numbers.uniform(low, high)
        if isinstance(self.low, int) and isinstance(self.high, int):
            return round(drawn)
        rounded = float(f"{drawn:.{SIGNIFICANT_DIGITS}g}")
        return f"{rounded:.12g}{unit}" if isinstance(self.low, str) else rounded


@dataclass(frozen=True)
class Design:
    """Points, crossed with the values of axes, crossed with seeds.

    A point holds only the parameters that differ from the experiment's defaults.
    """

    axes: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    points: Sequence[Parameters] = ({},)
    repeats: int = 1
    first_seed: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise WanlabError(f"repeats must be at least 1, not {self.repeats}")
        for name, values in self.axes.items():
            if isinstance(values, str) or not values:
                raise WanlabError(f"{name} has no values to vary over", "give it a list of values")
        _refuse_too_many(self.repeats * len(self.points) * math.prod(map(len, self.axes.values())))

    @classmethod
    def grid(
        cls, axes: Mapping[str, Sequence[Value]], *, repeats: int = 1, first_seed: int = 1
    ) -> Design:
        """Combine every value of each axis with every value of the others."""
        return cls(dict(axes), repeats=repeats, first_seed=first_seed)

    @classmethod
    def listed(
        cls, points: Sequence[Parameters], *, repeats: int = 1, first_seed: int = 1
    ) -> Design:
        """Return a design of these points and no others."""
        return cls({}, tuple(dict(point) for point in points), repeats, first_seed)

    @classmethod
    def random(
        cls,
        count: int,
        choices: Mapping[str, Sequence[Value] | Uniform],
        *,
        seed: int = 1,
        repeats: int = 1,
    ) -> Design:
        """Draw `count` points, each parameter independently; the same seed draws the same points."""
        _refuse_too_many(count * repeats)
        numbers = random_numbers.Random(seed)

        def draw(choice: Sequence[Value] | Uniform) -> Value:
            return choice.draw(numbers) if isinstance(choice, Uniform) else numbers.choice(choice)

        return cls.listed(
            [{name: draw(choice) for name, choice in choices.items()} for _ in range(count)],
            repeats=repeats,
        )

    def with_values(self, name: str, values: Sequence[Value]) -> Design:
        """Return a design in which the parameter takes these values instead of its former ones."""
        points = _distinct({k: v for k, v in point.items() if k != name} for point in self.points)
        return replace(self, axes={**self.axes, name: tuple(values)}, points=points)

    def runs(self) -> Iterator[tuple[dict[str, Value], int]]:
        """Yield the parameters and the seed of each run, in order and without duplicates."""
        combined = (
            {**point, **dict(zip(self.axes, values, strict=True))}
            for point in self.points
            for values in product(*self.axes.values())
        )
        for point in _distinct(combined):
            for seed in range(self.first_seed, self.first_seed + self.repeats):
                yield dict(point), seed


def _refuse_too_many(runs: int) -> None:
    if runs > MAX_RUNS:
        raise WanlabError(
            f"the design has {runs} runs", f"it can have at most {MAX_RUNS}: vary or repeat less"
        )


def _distinct(points: Iterable[Parameters]) -> tuple[Parameters, ...]:
    """Drop points that occurred before; 1, 1.0 and True are different values."""
    distinct: list[Parameters] = []
    seen = set()
    for point in points:
        typed = tuple((name, type(value).__name__, value) for name, value in point.items())
        if typed not in seen:
            seen.add(typed)
            distinct.append(point)
    return tuple(distinct)


def _split_unit(value: Value) -> tuple[float, str]:
    """Return "10ms" as 10.0 and "ms"."""
    if not isinstance(value, str):
        return float(value), ""
    match = _WITH_UNIT.fullmatch(value)
    if match is None:
        raise WanlabError(f'"{value}" is not a number with a unit', 'as in "10ms"')
    return float(match[1]), match[2] or ""
