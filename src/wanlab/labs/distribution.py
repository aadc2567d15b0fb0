"""One unit with many seeds: the distribution of each number, and where the manual's number is in it.

A run with one seed is one sample of each distribution. If the manual's number is in the range over
the seeds, chance may explain the difference.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wanlab.errors import WanlabError
from wanlab.text_table import aligned

from .agreement import manual_range
from .outcome import TEXT, readable
from .report import FigureReport, UnitReport

CENTRAL = 0.95
TAIL = (1 - CENTRAL) / 2
CONSTANT, INSIDE, OUTSIDE = "constant", "inside", "outside"
"""CONSTANT: all seeds give one value. Otherwise, where the manual's number is: in the range from the
lowest to the highest value, or not."""
FIELDS = ("part", "step", "place", "what", "manual", "unit", "at_least", "at_most")
Key = tuple[str, int, int]
"""The part of the unit (steps, solution), the step's number, and the index among its figures."""


@dataclass(frozen=True)
class NumberDistribution:
    """A number of the manual, and its value with each seed."""

    part: str
    step: int
    place: int
    what: str
    manual: str
    unit: str
    manual_range: tuple[float, float] | None
    at_least: float | None
    at_most: float | None
    values: tuple[float, ...]
    """In the order of the seeds, without the seeds that have no value."""

    @property
    def key(self) -> Key:
        return self.part, self.step, self.place

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def central(self) -> tuple[float, float]:
        """The central 95 % of the values. With less than one value in each tail, that is all of them."""
        if not _has_tails(len(self.values)):
            return min(self.values), max(self.values)
        low, high = np.quantile(self.values, [TAIL, 1 - TAIL])
        return float(low), float(high)

    @property
    def share_in_band(self) -> float:
        """The fraction of the values that are in the manual's band, 0 to 1."""
        low, high = self._band()
        return sum(low <= value <= high for value in self.values) / len(self.values)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        return min(self.values), max(self.values)

    @property
    def manual_value(self) -> float | None:
        """The manual's number; None if it prints none, or a range."""
        low, high = self.manual_range or (math.nan, math.nan)
        return low if low == high else None

    @property
    def place_of_manual(self) -> float | None:
        """The fraction of the values below the manual's number, 0 to 1; equal values count half."""
        manual = self.manual_value
        if manual is None:
            return None
        below = sum(value < manual for value in self.values)
        equal = sum(value == manual for value in self.values)
        return (below + equal / 2) / len(self.values)

    @property
    def verdict(self) -> str:
        """CONSTANT, INSIDE or OUTSIDE; "" if the manual prints no number."""
        low, high = self.range
        if low == high:
            return CONSTANT
        if self.manual_range is None:
            return ""
        return INSIDE if low <= self.manual_range[1] and self.manual_range[0] <= high else OUTSIDE

    def _band(self) -> tuple[float, float]:
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    def as_json(self) -> dict[str, object]:
        return {
            **asdict(self),
            "median": self.median,
            "central": list(self.central),
            "share_in_band": self.share_in_band,
            "place_of_manual": self.place_of_manual,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class UnitDistribution:
    """The results of a unit with many seeds."""

    unit: str
    seeds: tuple[int, ...]
    failed: Mapping[str, str]
    """The error of each seed that left no report."""
    wanlab: str
    kernel: str
    numbers: tuple[NumberDistribution, ...]

    @property
    def runs(self) -> int:
        """How many seeds left a report."""
        return len(self.seeds) - len(self.failed)

    def find(self, key: Key, figure: FigureReport) -> NumberDistribution | None:
        """Return the distribution of a figure with the band that the figure has now, or None."""
        for number in self.numbers:
            if number.key == key and number.what == figure["what"]:
                return replace(
                    number,
                    manual=figure["manual"],
                    manual_range=figure["manual_range"],
                    at_least=figure["at_least"],
                    at_most=figure["at_most"],
                )
        return None

    def to_json(self) -> str:
        """Return a JSON document with a line for each number."""
        head = {
            "unit": self.unit,
            "wanlab": self.wanlab,
            "kernel": self.kernel,
            "seeds": list(self.seeds),
            "failed": dict(self.failed),
        }
        rows = [json.dumps(number.as_json()) for number in self.numbers]
        numbers = ",\n".join(rows)
        return f'{json.dumps(head)[:-1]},\n"numbers": [\n{numbers}\n]}}\n'


def _has_tails(values: int) -> bool:
    return values * TAIL >= 1


def range_name(seeds: int) -> str:
    """Return what `NumberDistribution.central` is with this many seeds."""
    return f"central {CENTRAL * 100:g} %" if _has_tails(seeds) else "range"


def read_all(folder: Path) -> dict[str, UnitDistribution]:
    """Return the distributions in a folder, as `to_json` writes them, by unit.

    If a unit has several files, the one with the most seeds counts. Raises WanlabError if there are
    no files, or if one is not a distribution.
    """
    by_unit: dict[str, UnitDistribution] = {}
    for path in sorted(folder.glob("*-seed*-to-*.json")):
        distribution = _read(path)
        known = by_unit.get(distribution.unit)
        if known is None or known.runs < distribution.runs:
            by_unit[distribution.unit] = distribution
    if not by_unit:
        raise WanlabError(
            f"{folder} has no distributions", "make one: wanlab lab run UNIT --seeds NUMBER"
        )
    return by_unit


def _read(path: Path) -> UnitDistribution:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        numbers = tuple(map(_number, data["numbers"]))
        return UnitDistribution(
            unit=data["unit"],
            seeds=tuple(data["seeds"]),
            failed=data["failed"],
            wanlab=data["wanlab"],
            kernel=data["kernel"],
            numbers=numbers,
        )
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise WanlabError(
            f"{path} has no distributions: {error}", "repeat it: wanlab lab run UNIT --seeds NUMBER"
        ) from None


def _number(row: Mapping[str, Any]) -> NumberDistribution:
    # Files that wanlab 0.2.0 has written have no range of the manual.
    manual = row.get("manual_range") or manual_range(row["manual"])
    return NumberDistribution(
        **{name: row[name] for name in FIELDS},
        manual_range=manual and (manual[0], manual[1]),
        values=tuple(row["values"]),
    )


def distributions(reports: Sequence[UnitReport]) -> tuple[NumberDistribution, ...]:
    """Return the distribution of each number that was measured, in the order of the steps."""
    numbers: dict[Key, tuple[NumberDistribution, list[float]]] = {}
    for report in reports:
        for key, figure in figures(report):
            if figure["ours"] is None or figure["what"].startswith(TEXT):
                continue
            part, step, place = key
            number = NumberDistribution(
                part=part,
                step=step,
                place=place,
                what=figure["what"],
                manual=figure["manual"],
                unit=figure["unit"],
                manual_range=figure["manual_range"],
                at_least=figure["at_least"],
                at_most=figure["at_most"],
                values=(),
            )
            numbers.setdefault(key, (number, []))[1].append(figure["ours"])
    return tuple(replace(number, values=tuple(values)) for number, values in numbers.values())


def figures(report: UnitReport) -> Iterator[tuple[Key, FigureReport]]:
    """Yield the figures of a report with their keys."""
    for part, steps in (("steps", report["steps"]), ("solution", report["solution"])):
        for step in steps:
            for place, figure in enumerate(step["figures"]):
                yield (part, step["n"], place), figure


def text(distribution: UnitDistribution, heading: str) -> str:
    """Return a table with a row per number, and how many of the manual's numbers are typical."""
    numbers = distribution.numbers
    heads = ("what", "manual", "median", range_name(distribution.runs), "in band", "manual's")
    rows = [heads, *(_cells(number) for number in numbers)]
    lines = [f"{heading}, {distribution.runs} seeds", "", *aligned(rows, "<>>>>>")]
    counts = Counter(number.verdict for number in numbers)
    lines += [
        "",
        f"{len(numbers)} numbers: {counts[CONSTANT]} are the same with every seed; the manual's number "
        f"is in the range from the lowest to the highest value for {counts[INSIDE]} of the others, and "
        f"not in it for {counts[OUTSIDE]}",
    ]
    return "\n".join(lines) + "\n"


def _cells(number: NumberDistribution) -> tuple[str, ...]:
    low, high = number.central
    place = number.place_of_manual
    return (
        f"step {number.step}, {number.what}",
        number.manual,
        f"{readable(number.median)} {number.unit}".strip(),
        f"{readable(low)} to {readable(high)}",
        f"{number.share_in_band:.0%}",
        number.verdict
        if place is None or number.verdict == CONSTANT
        else f"{number.verdict}, {place:.0%}",
    )
