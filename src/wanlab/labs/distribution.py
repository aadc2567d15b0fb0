"""One unit with many seeds: the distribution of each number, and where the manual's lies in it.

A single run is one draw. A number whose band holds what most seeds give is typical; one whose band is
outside the central 95 % of the seeds is not explained by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from .outcome import TEXT, readable
from .report import UnitReport

CENTRAL = 0.95
HEADINGS = ("what", "manual", "median", "central 95 %", "in band")


@dataclass(frozen=True)
class NumberDistribution:
    """A number of the manual, and what each seed gave for it."""

    step: int
    what: str
    manual: str
    unit: str
    at_least: float | None
    at_most: float | None
    values: tuple[float, ...]
    """In the order of the seeds; a seed that gave none is left out."""

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def central(self) -> tuple[float, float]:
        """The central 95 % of the values."""
        tail = (1 - CENTRAL) / 2
        low, high = np.quantile(self.values, [tail, 1 - tail])
        return float(low), float(high)

    @property
    def share_in_band(self) -> float:
        """How many of the seeds gave a value in the manual's band."""
        low, high = self._band()
        return sum(low <= value <= high for value in self.values) / len(self.values)

    @property
    def includes_manual(self) -> bool:
        """Whether the manual's band and the central 95 % of the seeds have values in common."""
        low, high = self._band()
        central_low, central_high = self.central
        return low <= central_high and central_low <= high

    def _band(self) -> tuple[float, float]:
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    def as_json(self) -> dict[str, object]:
        return {
            **asdict(self),
            "median": self.median,
            "central": list(self.central),
            "share_in_band": self.share_in_band,
            "includes_manual": self.includes_manual,
        }


def distributions(reports: Sequence[UnitReport]) -> list[NumberDistribution]:
    """Return the distribution of each number that was measured, in the order of the steps."""
    found: dict[tuple[str, int, int], tuple[NumberDistribution, list[float]]] = {}
    for report in reports:
        for part, steps in (("steps", report["steps"]), ("solution", report["solution"])):
            for step in steps:
                for place, figure in enumerate(step["figures"]):
                    if figure["ours"] is None or figure["what"].startswith(TEXT):
                        continue
                    number = NumberDistribution(
                        step=step["n"],
                        what=figure["what"],
                        manual=figure["manual"],
                        unit=figure["unit"],
                        at_least=figure["at_least"],
                        at_most=figure["at_most"],
                        values=(),
                    )
                    key = (part, step["n"], place)
                    found.setdefault(key, (number, []))[1].append(figure["ours"])
    return [replace(number, values=tuple(values)) for number, values in found.values()]


def text(numbers: Sequence[NumberDistribution], heading: str, seeds: int) -> str:
    """Return a table with a row per number, and how many of the manual's are typical."""
    rows = [HEADINGS, *(_cells(number) for number in numbers)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{heading}, {seeds} seeds", ""]
    for row in rows:
        first, *others = row
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    typical = sum(number.includes_manual for number in numbers)
    varying = sum(len(set(number.values)) > 1 for number in numbers)
    lines += [
        "",
        f"the manual's band meets the central 95 % of the seeds for {typical} of {len(numbers)} numbers",
        f"{varying} of them differ from seed to seed",
        *_outside(numbers),
    ]
    return "\n".join(lines) + "\n"


def _cells(number: NumberDistribution) -> tuple[str, ...]:
    low, high = number.central
    return (
        f"step {number.step}, {number.what}",
        number.manual,
        f"{readable(number.median)} {number.unit}".strip(),
        f"{readable(low)} to {readable(high)}",
        f"{number.share_in_band:.0%}",
    )


def _outside(numbers: Sequence[NumberDistribution]) -> Iterator[str]:
    for number in numbers:
        if not number.includes_manual:
            is_below = number.at_least is not None and number.median < number.at_least
            side = "below" if is_below else "above"
            yield f"  step {number.step}, {number.what}: all but the tails are {side} the manual's band"
