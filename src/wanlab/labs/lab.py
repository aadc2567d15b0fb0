"""What a lab is, and what came of running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wanlab import Network, Record
from wanlab.plot import Panel


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
        if self.at_least is not None and self.at_most is not None:
            return f"{self.at_least:,g} to {self.at_most:,g}"
        if self.at_least is not None:
            return f"{self.at_least:,g} or more"
        if self.at_most is not None:
            return f"{self.at_most:,g} or less"
        return "any"


@dataclass
class Run:
    """One part of a lab that was measured."""

    name: str
    title: str
    record: Record
    panels: list[Panel]


@dataclass
class LabResult:
    """All that came of one run of a lab."""

    runs: list[Run] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    """What the commands of the steps printed, by the step's name."""


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
    perform: Callable[[Network, Callable[[str], None]], LabResult]
