"""The reports of runs and grades, as they are written to JSON and read from it.

They hold nothing that depends on the computer: equal inputs give equal reports, wherever they are made.

UnitReport     a run of a unit                      report.json
  StepReport     one step, with its output
    FigureReport   one figure of the manual beside ours
    LossReport     packets that were lost at one place
  RecordReport   a record that the unit asks for
  GradeReport    the checks at the end
    CheckReport    one check
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from .agreement import UNKNOWN


class FigureReport(TypedDict):
    """One figure, or text, of the manual beside ours."""

    what: str
    manual: str
    ours: float | None
    ours_text: str
    unit: str
    manual_range: tuple[float, float] | None
    """The number that the manual prints, or the two ends of its range."""
    ratio: float | None
    """Our number as a multiple of the manual's."""
    seeds: tuple[float, float] | None
    """The range of our number over many seeds, if chance decides."""
    band: str
    """Where what the lesson teaches is so."""
    at_least: float | None
    at_most: float | None
    in_band: bool
    status: str
    """One of `agreement.STATUSES`."""
    cause: str
    """Why the numbers differ; for `within`, the rule if it is not the difference of 25 %."""
    why: str
    """Where the band comes from."""


class StepReport(TypedDict):
    """One step of a unit or of a solution. Times are of the network's clock."""

    n: int
    at: str
    where: str
    command: str
    printed: str
    note: str
    skipped: str
    optional: bool
    output: str
    figures: list[FigureReport]
    problems: list[str]
    lost: list[LossReport]
    """Where the network lost packets during this step."""
    began_s: float
    seconds: float


class LossReport(TypedDict):
    """Packets that were lost at one place for one reason; see `measure.Drop`."""

    place: str
    what: str
    packets: int
    share: float
    cause: str
    remedy: str


class CheckReport(TypedDict):
    """One check: its points, its measured value, and its hint if it fails."""

    what: str
    measured: bool
    """Whether the check measures flows, rather than reading a state."""
    passed: bool
    points: float
    of: float
    value: float | None
    value_text: str
    band: str
    guard: bool
    """Whether the untouched network passes it."""
    counts: bool
    """False for a guard if a measured check fails."""
    hint: str
    reason: str


class GradeReport(TypedDict):
    """All checks of a unit, over one network."""

    unit: str
    title: str
    seed: int
    variant: int | None
    points: float
    of: float
    passed: bool
    checks: list[CheckReport]
    problems: NotRequired[list[str]]
    """What went wrong while the graded work was performed."""
    notes: NotRequired[list[str]]
    """Remarks about the session that was performed."""
    outputs: NotRequired[list[StepReport]]
    programs: NotRequired[list[ProgramReport]]
    """The programs that the checks ran, as they were before the graded work began."""
    changed_programs: NotRequired[list[str]]
    """Programs, and files that they load, that the graded work has changed in its sandbox."""
    graded_with: NotRequired[GraderReport]


class GraderReport(TypedDict):
    """What a grade was made with, besides the programs: equal ones give equal grades."""

    wanlab: str
    code: str
    """The SHA-256 of wanlab's files that take part in a grade."""
    kernel: str
    """The SHA-256 of the kernel's manifest."""


class ProgramReport(TypedDict):
    """A program that checks run."""

    path: str
    sha256: str


class RecordReport(TypedDict):
    """A record that the run has kept."""

    title: str
    digest: str


class DecisionReport(TypedDict):
    """A decision of the unit where the manual is silent."""

    what: str
    decided: str
    because: str


class UnitReport(TypedDict):
    """One run of a unit."""

    wanlab: str
    inputs: str
    """The digest of everything that decides its numbers: see `run_inputs`."""
    unit: str
    kind: str
    number: int
    title: str
    heading: str
    goal: str
    seed: int
    variant: int | None
    clock: str
    start_jitter_s: float
    """The limit of the random delay of commands that start together; usually 0."""
    cpu: NotRequired[str]
    """The processor of hosts and routers; absent if computing took no time."""
    wire: str
    line_rate: str
    steps_count: int
    performed: int
    skipped: int
    counts: dict[str, int]
    """How many figures have each status."""
    steps: list[StepReport]
    solution: list[StepReport]
    check: GradeReport | None
    records: dict[str, RecordReport]
    decisions: list[DecisionReport]
    virtual_s: float
    warnings: list[str]


def all_steps(report: UnitReport) -> list[StepReport]:
    """Return the steps of the unit and of its solution."""
    return [*report["steps"], *report["solution"]]


def is_good(report: UnitReport) -> bool:
    """Return whether no step failed, every number is where it should be, and the solution passes.

    On the real clock, a measured check may miss its band: its value depends on this computer.
    """
    has_failed = any(step["problems"] for step in all_steps(report))
    checks = report["check"]["checks"] if report["check"] else []
    is_real = report["clock"] == "real"
    is_graded = all(check["passed"] or (is_real and check["measured"]) for check in checks)
    return not has_failed and is_graded and not any(map(is_astray, all_figures(report)))


def is_astray(figure: FigureReport) -> bool:
    """Return whether a number is outside its band, and lab.yaml states no cause."""
    return figure["status"] == UNKNOWN and not figure["in_band"]


def all_figures(report: UnitReport) -> list[FigureReport]:
    return [figure for step in all_steps(report) for figure in step["figures"]]


def transcript(steps: list[StepReport]) -> str:
    """Return every command with its output."""
    return "\n".join(f"{step['command']}\n{step['output']}" for step in steps if step["command"])
