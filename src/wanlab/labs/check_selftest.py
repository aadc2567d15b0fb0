"""Tests whether a unit's checks accept right work and reject wrong work, for each of its variants.

    start       the state that set_env.sh leaves     fails
    solution    each solution of the unit            passes
    wrong/*     plausible, and wrong                 fails, with the hint that its file names

If a case has another result, the unit's files are wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import WanlabError

from . import unit_run
from .report import CheckReport, GradeReport
from .unit import Unit
from .unit_file import read_work

START, SOLUTION, WRONG = "start", "solution", "wrong"


@dataclass(frozen=True)
class Case:
    """A piece of work to grade, and the expected grade."""

    unit: Unit
    kind: str
    file: Path | None
    seed: int
    hints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in `prob1: wrong/rate-raised, variant 2`."""
        work = self.kind if self.file is None else self.file.stem
        variant = self.unit.variant(self.seed)
        name = f"{self.unit.name}: {'wrong/' * (self.kind == WRONG)}{work}"
        return f"{name}, variant {variant}" if variant else name


@dataclass(frozen=True)
class Verdict:
    """The result of a case."""

    name: str
    kind: str
    is_right: bool
    points: float
    of: float
    missed: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why the result is not the expected one; empty if it is."""
    seconds: float


def cases(unit: Unit) -> Iterator[Case]:
    """Yield all cases of a unit. A lab has only START, because its lesson gives all steps."""
    if unit.kind == "lab":
        yield Case(unit, START, None, 1)
        return
    seeds = range(1, max(1, len(unit.variants)) + 1)
    for seed in seeds:
        yield Case(unit, START, None, seed)
    for file in sorted(unit.folder.glob("solution*.yaml")):
        _, _, number = file.stem.partition("-")
        solved = [int(number)] if number and unit.variants else seeds
        for seed in solved:
            yield Case(unit, SOLUTION, file, seed)
    for file in sorted((unit.folder / "wrong").glob("*.yaml")):
        work = read_work(file, unit.values)
        yield Case(unit, WRONG, file, work.seed or work.variant or 1, work.hints)


def run_case(case: Case, say: Callable[[str], None] = lambda line: None) -> Verdict:
    """Grade a case in a separate network."""
    began = time.monotonic()
    checks: Sequence[CheckReport] = ()
    points = of = 0.0
    try:
        report = unit_run.grade_work(
            case.unit, case.file, seed=case.seed, clock="virtual", say=say, quick=True
        )
    except WanlabError as error:
        reasons = [str(error)]
    else:
        checks, points, of = report["checks"], report["points"], report["of"]
        reasons = list(_reasons(case, report))
    return Verdict(
        name=case.name,
        kind=case.kind,
        is_right=not reasons,
        points=points,
        of=of,
        missed=tuple(f"{check['what']}: {check['value_text']}" for check in _missed(checks)),
        reasons=tuple(reasons),
        seconds=round(time.monotonic() - began, 1),
    )


def _missed(checks: Sequence[CheckReport]) -> list[CheckReport]:
    return [check for check in checks if not check["passed"]]


def _reasons(case: Case, report: GradeReport) -> Iterator[str]:
    missed = _missed(report["checks"])
    yield from report["problems"]
    if case.kind == SOLUTION:
        yield from (f"missed: {c['what']} {c['value_text']} {c['reason']}".strip() for c in missed)
        return
    if report["passed"]:
        yield "it passes, but should fail"
    if case.kind == START and report["points"]:
        earned = [c["what"] for c in report["checks"] if c["points"]]
        yield f"the untouched network earns points (guard: true is missing): {'; '.join(earned)}"
    hints = " ".join(check["hint"] for check in missed)
    yield from (f"no hint says {hint!r}" for hint in case.hints if hint not in hints)
