"""A figure: the theoretical value of an effect, the measured value, and the accepted range.

The range follows from theory, too: from rounding, binomial intervals, the critical value of a test, or
the accuracy of the formula itself. No range is widened until the measurement fits. A figure that does
not fit has a section in docs/evidence/fidelity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Origin = Literal["kernel", "qdisc", "model"]
# Seeds are fixed, so a figure is outside its range in every run or in none, until a kernel draws other
# numbers. With some thirty random figures, one table in twelve would have a figure outside three sigma;
# one in five hundred has a figure outside four.
SIGMAS = 4.0


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One row of the table."""

    effect: str
    origin: Origin
    theory: float
    measured: float
    least: float
    most: float
    unit: str = ""
    reason: str = ""
    """The reason for `least` and `most`."""
    flaws: str = ""
    """Other problems of the run: warnings, or packets that should not have been lost."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further measurements, for the JSON."""

    @property
    def error(self) -> float | None:
        """The relative error; None if the theoretical value is 0."""
        return self.measured / self.theory - 1 if self.theory else None

    @property
    def is_met(self) -> bool:
        return not self.flaws and self.least <= self.measured <= self.most


@dataclass(frozen=True)
class Case:
    """Networks that are run together, and the figures that they yield."""

    name: str
    measure: Callable[[], list[Figure]]


def near(
    effect: str,
    origin: Origin,
    theory: float,
    measured: float,
    *,
    within: float,
    unit: str = "",
    reason: str = "",
) -> Figure:
    """Return a figure that may differ from theory by a fraction of it."""
    span = abs(theory) * within
    return Figure(
        effect=effect,
        origin=origin,
        theory=theory,
        measured=measured,
        least=theory - span,
        most=theory + span,
        unit=unit,
        reason=reason or f"{100 * within:g} %",
    )


def binomial(effect: str, origin: Origin, theory: float, counted: int, of: int) -> Figure:
    """Return a figure that is the fraction of independent events."""
    sigma = math.sqrt(theory * (1 - theory) / of)
    return Figure(
        effect=effect,
        origin=origin,
        theory=theory * 100,
        measured=100 * counted / of,
        least=100 * (theory - SIGMAS * sigma),
        most=100 * (theory + SIGMAS * sigma),
        unit="%",
        reason=f"4 sigma of {of} packets",
    )
