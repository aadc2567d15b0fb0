"""Which runs a sweep has: points in the space of parameters, each with several seeds.

    Design.grid({"buffer": ["0.5bdp", "1bdp"], "algorithm": ["reno", "cubic"]}, repeats=3)
    Design.listed([{"rate": "10Mbps", "rtt": "100ms"}, {"rate": "1Gbps", "rtt": "5ms"}])
    Design.random(50, {"rate": Uniform("10Mbps", "1Gbps", logarithmic=True), "rtt": ["5ms", "50ms"]})

The order of a design is the order of its table: points as they are written, the last parameter of a
grid varies fastest, seeds within a point. It does not depend on how the runs are performed.
"""

from __future__ import annotations

import math
import random as random_numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from wanlab.errors import WanlabError

Value = str | int | float | bool
"""Of a parameter."""
Parameters = Mapping[str, Value]
_WITH_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([^\s\d.]\S*)?\s*")
DIGITS = 4


@dataclass(frozen=True)
class Uniform:
    """Any value from one to another, both in the same unit: "10ms" to "200ms", 1 to 8."""

    low: Value
    high: Value
    logarithmic: bool = False

    def draw(self, numbers: random_numbers.Random) -> Value:
        """A value with four digits, so that it can be read and typed again."""
        low, unit = _split(self.low)
        high, other = _split(self.high)
        if unit != other:
            raise WanlabError(
                f"{self.low} and {self.high} have different units", "write both in the same"
            )
        if not low <= high or (self.logarithmic and low <= 0):
            raise WanlabError(f"there is nothing between {self.low} and {self.high}")
        if self.logarithmic:
            drawn = math.exp(numbers.uniform(math.log(low), math.log(high)))
        else:
            drawn = numbers.uniform(low, high)
        if isinstance(self.low, int) and isinstance(self.high, int):
            return round(drawn)
        rounded = float(f"{drawn:.{DIGITS}g}")
        return f"{rounded:.12g}{unit}" if isinstance(self.low, str) else rounded


@dataclass(frozen=True)
class Design:
    """Points, crossed with the values of axes, crossed with seeds.

    A point names only what differs from the experiment's defaults.
    """

    axes: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    points: Sequence[Parameters] = ({},)
    repeats: int = 1
    first_seed: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise WanlabError(f"a run cannot be repeated {self.repeats} times", "once at least")
        for name, values in self.axes.items():
            if isinstance(values, str) or not values:
                raise WanlabError(f"{name} varies over nothing", "give it a list of values")

    @classmethod
    def grid(
        cls, axes: Mapping[str, Sequence[Value]], *, repeats: int = 1, first_seed: int = 1
    ) -> Design:
        """Every value of every axis with every value of the others."""
        return cls(dict(axes), repeats=repeats, first_seed=first_seed)

    @classmethod
    def listed(
        cls, points: Sequence[Parameters], *, repeats: int = 1, first_seed: int = 1
    ) -> Design:
        """These points and no others."""
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
        """So many points, each parameter drawn by itself; the same seed draws the same points."""
        numbers = random_numbers.Random(seed)

        def draw(choice: Sequence[Value] | Uniform) -> Value:
            return choice.draw(numbers) if isinstance(choice, Uniform) else numbers.choice(choice)

        return cls.listed(
            [{name: draw(choice) for name, choice in choices.items()} for _ in range(count)],
            repeats=repeats,
        )

    def with_values(self, name: str, values: Sequence[Value]) -> Design:
        """The same with a parameter that takes these values, whatever it took before."""
        points = _distinct({k: v for k, v in point.items() if k != name} for point in self.points)
        return replace(self, axes={**self.axes, name: tuple(values)}, points=points)

    def runs(self) -> Iterator[tuple[dict[str, Value], int]]:
        """Each run's parameters and seed, in order, each once."""
        combined = (
            {**point, **dict(zip(self.axes, values, strict=True))}
            for point in self.points
            for values in product(*self.axes.values())
        )
        for point in _distinct(combined):
            for seed in range(self.first_seed, self.first_seed + self.repeats):
                yield dict(point), seed


def _distinct(points: Iterator[Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    seen = set()
    for point in points:
        marked = tuple((name, type(value).__name__, value) for name, value in point.items())
        if marked not in seen:
            seen.add(marked)
            found.append(point)
    return tuple(found)


def _split(value: Value) -> tuple[float, str]:
    if not isinstance(value, str):
        return float(value), ""
    match = _WITH_UNIT.fullmatch(value)
    if match is None:
        raise WanlabError(f'"{value}" is no number with a unit', 'as in "10ms"')
    return float(match[1]), match[2] or ""
