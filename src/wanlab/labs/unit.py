"""A unit of the course as data: a lab, an exercise or a problem, as its lab.yaml describes it.

Unit -> Step -> Expectation      what to type where, and which figures of the manual it shows
             -> Recording        what to keep of a step as a record, and to draw
     -> Check                    how to grade a student's network
     -> Decision                 a decision where the manual is silent
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CLIENT, MININET, GUI = "client", "mininet", "gui"
KINDS = {"lab": "lab", "exercise": "ex", "problem": "prob"}
"""Each kind, and its prefix on the command line."""
TITLES = {"lab": "Lab", "exercise": "Exercise", "problem": "Problem"}


@dataclass(frozen=True)
class Band:
    """The range in which what the lesson teaches is so; None is no limit. Set before any run."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )


@dataclass(frozen=True)
class Expectation:
    """One figure of the manual, and the metric that measures it here."""

    what: str
    metric: str
    manual: str
    unit: str = ""
    band: Band = Band()
    why: str = ""
    """Where the band comes from."""
    of: int | None = None
    """The step whose output the metric reads; None: this one."""
    cause: str = ""
    """Why our number differs from the manual's, if it does."""
    tried: str = ""
    """What was tried to find the cause, if it is unknown."""
    changed: str = ""
    """How the commands differ from the manual's, if its own give another number here."""
    means: tuple[float, float] | None = None
    """What the manual means, from and to, if `manual` is not a plain number."""
    seeds: tuple[float, float] | None = None
    """The lowest and the highest of our values over many seeds, if chance decides."""


@dataclass(frozen=True)
class Recording:
    """The sources of a step's record, which are also drawn over time."""

    name: str
    """The record's folder among the results."""
    title: str
    sources: tuple[str, ...]
    """As in the metric language: queue(PORT), tcp(HOST), ping, iperf3, iperf3(FILE)."""
    limit_bytes: int | None = None
    """How much the queue may hold; drawn as a line."""


@dataclass(frozen=True)
class Step:
    """One step of the manual. `lines` are the lines to type, if any."""

    n: int
    at: str
    where: tuple[str, ...]
    lines: tuple[str, ...] = ()
    for_ns: int | None = None
    """Press Ctrl-C after this time."""
    do: Mapping[str, object] = field(default_factory=dict)
    """What is done in the GUI: each word with its argument."""
    starts: str = ""
    """Leave the command running; later steps refer to it by this name."""
    stops: str = ""
    """Press Ctrl-C in the terminal of the command of this name."""
    ends: str = ""
    """Wait until the command of this name has ended by itself."""
    waits_for_enter: bool = False
    enter: tuple[int, ...] = ()
    """Press Enter for the lines that these steps typed."""
    printed: str = ""
    """The manual's command, where a corrected one is typed."""
    note: str = ""
    is_optional: bool = False
    follows_check: bool = False
    """Whether this step and all later ones come after the check, because they change its network."""
    skip: str = ""
    """Why the step is not performed."""
    status: int | None = None
    """The expected exit status; None: 0, or any if Ctrl-C ended the command."""
    expect: tuple[Expectation, ...] = ()
    says: tuple[str, ...] = ()
    """Texts that must occur in the output."""
    record: Recording | None = None

    @property
    def title(self) -> str:
        return f"step {self.n} ({self.at})" if self.at else f"step {self.n}"

    @property
    def commands(self) -> list[str]:
        """The lines that are typed together: several lines may be one command."""
        is_one = any("<<" in line or line.endswith("\\") for line in self.lines)
        return ["\n".join(self.lines)] if is_one else list(self.lines)

    @property
    def text(self) -> str:
        """The step as a reader performs it: the prompt and the command, or the action in the GUI."""
        where = ",".join(self.where)
        if self.where == (GUI,):
            actions = (
                f"{word} {_gui_text(argument)}".strip() for word, argument in self.do.items()
            )
            return f"GUI: {'; '.join(actions)}"
        if self.enter:
            return f"{where}: Enter"
        if self.stops:
            return f"{where}: Ctrl-C"
        if self.ends:
            return f"{where}: wait for {self.ends}"
        prompt = "mininet>" if self.where == (MININET,) else f"{where}$"
        return "\n".join(f"{prompt} {line}" for line in self.lines)


def _gui_text(argument: object) -> str:
    if isinstance(argument, Mapping):
        return ", ".join(f"{word}: {_gui_text(value)}" for word, value in argument.items())
    if isinstance(argument, list):
        # A link is a pair of nodes.
        return ", ".join(
            "-".join(item) if isinstance(item, list) else _gui_text(item) for item in argument
        )
    return "" if argument is None or argument is True else str(argument)


@dataclass(frozen=True)
class CheckFlow:
    """A measurement by the check itself: a server, and the command of the client."""

    server: str
    client: str
    command: str


@dataclass(frozen=True)
class Check:
    """One property that a student's network must have, and the points for it."""

    what: str
    points: float
    hint: str
    metric: str = ""
    band: Band = Band()
    says: tuple[str, ...] = ()
    flows: tuple[CheckFlow, ...] = ()
    state: str = ""
    """The command whose output is read, if no flows are measured."""
    terminal: str = CLIENT
    """Where that command is typed."""
    through: tuple[str, ...] = ()
    """Ports through which all measured traffic must have left, by the kernel's counters."""
    is_guard: bool = False
    """The untouched network passes it, so its points count only if all measured checks pass."""


@dataclass(frozen=True)
class Decision:
    """A decision where the manual is silent or contradicts itself."""

    what: str
    decided: str
    because: str


@dataclass(frozen=True)
class Unit:
    """A lab, an exercise or a problem: one folder of the course."""

    folder: Path
    number: int
    kind: str
    title: str
    goal: str
    file: str
    """The name under which a student finds the topology."""
    aliases: tuple[str, ...] = ()
    wire: str = "gso"
    wire_why: str = ""
    line_rate: str = "0"
    line_rate_why: str = ""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    """The default seed, with which the results are typical of what the lesson teaches."""
    seed_why: str = ""
    hours: float = 1.0
    steps: tuple[Step, ...] = ()
    check: tuple[Check, ...] = ()
    decisions: tuple[Decision, ...] = ()
    variants: tuple[Mapping[str, object], ...] = ()
    """The faults of a problem, one of which the seed chooses."""
    own_name: str = ""
    """The name of the unit's folder, if it is in a teacher's folder; otherwise empty."""
    draws: bool = False
    """Whether the seed also draws values, so that another seed needs another `Unit`."""
    values: Mapping[str, int | float | str] = field(default_factory=dict)
    """What the seed has drawn: see `seed_values`."""

    @property
    def name(self) -> str:
        """The name on the command line: 6, ex3, prob1."""
        if self.own_name:
            return self.own_name
        return f"{KINDS[self.kind] if self.kind != 'lab' else ''}{self.number}"

    @property
    def heading(self) -> str:
        return self.title if self.own_name else f"{TITLES[self.kind]} {self.number}: {self.title}"

    @property
    def topology(self) -> Path:
        return self.folder / "topology.mn"

    def run_name(self, seed: int) -> str:
        """Return the name of the folder in which a run keeps its results."""
        return f"{self.folder.name}-seed{seed}"

    def variant(self, seed: int) -> int | None:
        """Return the number of the fault that the seed chooses, from 1; None if there is only one."""
        return max(seed - 1, 0) % len(self.variants) + 1 if self.variants else None
