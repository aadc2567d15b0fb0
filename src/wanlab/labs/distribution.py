"""One unit with many seeds: the distribution of each number, and where the manual's number is in it.

A run with one seed is one sample of each distribution. If the manual's band overlaps the central 95 %
of the seeds' values, the manual's number is typical. Otherwise, chance does not explain the
difference.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from wanlab.errors import WanlabError
from wanlab.text_table import aligned

from .outcome import TEXT, readable
from .report import FigureReport, UnitReport

CENTRAL = 0.95
TAIL = (1 - CENTRAL) / 2
NEAR = 0.1
CONSTANT, WITHIN, BAND_ONLY, OUTSIDE = "constant", "within", "band only", "outside"
"""Where the manual's number is.

CONSTANT: all seeds give one value. WITHIN: it is in the central 95 % of the seeds' values. BAND_ONLY:
it is not, but its band overlaps them. OUTSIDE: its band does not overlap them either.
"""
# A remark in parentheses may follow: "20.5 (icmp_seq 3 is missing)".
_NUMBER = re.compile(
    r"(?:about |approximately |near |~)?"
    r"(-?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e-?\d+)?)(?: \(.*\))?"
)
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
    def includes_manual(self) -> bool:
        """Whether the manual's band and the central 95 % of the seeds have values in common."""
        low, high = self._band()
        central_low, central_high = self.central
        return low <= central_high and central_low <= high

    @property
    def manual_value(self) -> float | None:
        """The manual's number in our unit; None if the manual has no number or another unit."""
        match = _NUMBER.fullmatch(self.manual.strip())
        value = float(match[1].replace(",", "")) if match else math.nan
        low, high = self._band()
        return value if low <= value <= high else None

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
        """CONSTANT, WITHIN, BAND_ONLY or OUTSIDE."""
        if len(set(self.values)) == 1:
            return CONSTANT
        low, high = self.central
        if (manual := self.manual_value) is not None and low <= manual <= high:
            return WITHIN
        return BAND_ONLY if self.includes_manual else OUTSIDE

    @property
    def is_near(self) -> bool:
        """Whether the manual's number is at most NEAR beyond the central 95 % of the values."""
        low, high = self.central
        manual = self.manual_value
        return manual is not None and low <= manual * (1 + NEAR) and manual * (1 - NEAR) <= high

    @property
    def side(self) -> str:
        """Whether typical values are below or above the manual's band."""
        is_below = self.at_least is not None and self.median < self.at_least
        return "below" if is_below else "above"

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
            "manual_value": self.manual_value,
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
    fields = [*NumberDistribution.__dataclass_fields__]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        numbers = tuple(
            NumberDistribution(
                **{**{name: row[name] for name in fields}, "values": tuple(row["values"])}
            )
            for row in data["numbers"]
        )
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
    typical = sum(number.includes_manual for number in numbers)
    varying = [number for number in numbers if number.verdict != CONSTANT]
    within = sum(number.verdict == WITHIN for number in varying)
    lines += [
        "",
        f"the manual's band overlaps the central 95 % of the seeds for {typical} of {len(numbers)} "
        "numbers",
        f"{len(varying)} of them differ from seed to seed; of these, the manual's own number is within "
        f"the central 95 % for {within}",
        *_outside(numbers),
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


def _outside(numbers: Sequence[NumberDistribution]) -> Iterator[str]:
    for number in numbers:
        if not number.includes_manual:
            side = number.side
            yield f"  step {number.step}, {number.what}: the central 95 % are {side} the manual's band"
