"""What a lab is, and what came of running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wanlab import Network, Record, Sampling
    from wanlab.plot import Panel


def readable(number: float) -> str:
    """A number for people: no exponents, thousands separated, four digits that count."""
    if number == int(number) or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


@dataclass(frozen=True)
class Finding:
    """One number of the manual's beside ours. The band was set before the result was known."""

    what: str
    manual: str
    ours: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    why: str = ""
    """Where the band comes from, or why ours differs."""

    @property
    def is_reproduced(self) -> bool:
        return (self.at_least is None or self.ours >= self.at_least) and (
            self.at_most is None or self.ours <= self.at_most
        )

    @property
    def band(self) -> str:
        least = None if self.at_least is None else readable(self.at_least)
        most = None if self.at_most is None else readable(self.at_most)
        if least is None and most is None:
            return "any"
        if least is None or most is None:
            return f"{least} or more" if most is None else f"{most} or less"
        return least if least == most else f"{least} to {most}"


@dataclass
class Run:
    """One part of a lab that was measured."""

    name: str
    title: str
    record: Record
    panels: list[Panel]


@dataclass(frozen=True)
class Underway:
    """What is being measured: kept as a record of its own if the lab is interrupted."""

    name: str
    title: str
    sampling: Sampling


@dataclass
class LabResult:
    """All that came of one run of a lab, or has come of it so far."""

    runs: list[Run] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    """What the commands of the steps printed, by the step's name."""
    underway: Underway | None = None


@dataclass(frozen=True)
class Lab:
    """A lab as it is run by machine. `perform` does the manual's steps in a running network."""

    number: int
    title: str
    topology: Path
    wire: str
    line_rate_bps: int
    """Of every port; 0 is no limit, as on the course's machine."""
    sysctls: Mapping[str, str]
    perform: Callable[[Network, LabResult, Callable[[str], None]], None]
    """Adds to the result as it goes, so that what there is can be kept if it is interrupted."""
