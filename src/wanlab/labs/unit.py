"""A unit of the course as data: a lab, an exercise or a problem, as its lab.yaml says it.

Unit -> Step -> Expectation      what is typed where, and which numbers of the manual it shows
     -> Check                    how a student's network is graded
     -> Decision                 what was decided where the manual is silent
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CLIENT, MININET, GUI = "client", "mininet", "gui"
KINDS = {"lab": "lab", "exercise": "ex", "problem": "prob"}
"""Each kind, and how it is called on the command line."""
TITLES = {"lab": "Lab", "exercise": "Exercise", "problem": "Problem"}


@dataclass(frozen=True)
class Band:
    """The numbers that will do; None is no limit. It was set before any run."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )


@dataclass(frozen=True)
class Expectation:
    """One number of the manual's."""

    what: str
    metric: str
    manual: str
    unit: str = ""
    band: Band = Band()
    why: str = ""
    """Where the band comes from."""
    of: int | None = None
    """The step whose output it is taken from, if not its own."""
    explained: str = ""
    """Why ours is outside the band, if it is, with the page that shows it."""


@dataclass(frozen=True)
class Step:
    """One step of the manual. What is typed, if anything, is in `lines`."""

    n: int
    at: str
    where: tuple[str, ...]
    lines: tuple[str, ...] = ()
    for_ns: int | None = None
    """Ctrl-C after that."""
    do: Mapping[str, Any] = field(default_factory=dict)
    starts: str = ""
    stops: str = ""
    ends: str = ""
    """Waits until what was started under that name has ended by itself."""
    waits_for_enter: bool = False
    enter: tuple[int, ...] = ()
    printed: str = ""
    note: str = ""
    is_optional: bool = False
    skip: str = ""
    status: int | None = None
    """The exit status that is meant; None: 0, or any if Ctrl-C ended it."""
    expect: tuple[Expectation, ...] = ()
    says: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"step {self.n} ({self.at})" if self.at else f"step {self.n}"

    @property
    def text(self) -> str:
        """As one would tell it."""
        where = ",".join(self.where)
        if self.where == (GUI,):
            done = (f"{word} {_told(value)}".strip() for word, value in self.do.items())
            return f"GUI: {'; '.join(done)}"
        if self.enter:
            return f"{where}: Enter"
        if self.stops:
            return f"{where}: Ctrl-C"
        if self.ends:
            return f"{where}: wait for {self.ends}"
        prompt = "mininet>" if self.where == (MININET,) else f"{where}$"
        return "\n".join(f"{prompt} {line}" for line in self.lines)


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{word}: {_told(own)}" for word, own in value.items())
    if isinstance(value, list):
        # A link is a pair of nodes.
        return ", ".join("-".join(one) if isinstance(one, list) else _told(one) for one in value)
    return "" if value is None or value is True else str(value)


@dataclass(frozen=True)
class Flow:
    """A measurement of the check's own: a server, and what the client types."""

    server: str
    client: str
    command: str


@dataclass(frozen=True)
class Check:
    """One thing that a student's network must show, and what it is worth."""

    what: str
    points: float
    hint: str
    metric: str = ""
    band: Band = Band()
    says: tuple[str, ...] = ()
    flows: tuple[Flow, ...] = ()
    state: str = ""
    place: str = CLIENT


@dataclass(frozen=True)
class Decision:
    """Where the manual is silent or contradicts itself."""

    what: str
    decided: str
    because: str


@dataclass(frozen=True)
class Unit:
    """A folder of the course."""

    folder: Path
    number: int
    kind: str
    title: str
    goal: str
    file: str
    aliases: tuple[str, ...] = ()
    wire: str = "gso"
    wire_why: str = ""
    line_rate: str = "0"
    line_rate_why: str = ""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    hours: float = 1.0
    steps: tuple[Step, ...] = ()
    check: tuple[Check, ...] = ()
    decisions: tuple[Decision, ...] = ()
    variants: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """As the command line has it: 6, ex3, prob1."""
        return f"{KINDS[self.kind] if self.kind != 'lab' else ''}{self.number}"

    @property
    def heading(self) -> str:
        return f"{TITLES[self.kind]} {self.number}: {self.title}"

    @property
    def topology(self) -> Path:
        return self.folder / "topology.mn"

    def run_name(self, seed: int) -> str:
        """The folder that a run leaves among the results."""
        return f"{self.folder.name}-seed{seed}"

    def variant(self, seed: int) -> int | None:
        """Number of the fault that this seed chooses, from 1; None if there is only one."""
        return (seed - 1) % len(self.variants) + 1 if self.variants else None
