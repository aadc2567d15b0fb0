"""Proves that the checks of a unit tell right from wrong.

    start       the state that set_env.sh leaves     fails
    solution    each that we have                    passes
    wrong/*     plausible, and wrong                 fails, with the hint that its file names

of every variant there is. What is proved is the course, not the network: a case that is not as it
should be is a mistake in a unit's files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError

from . import unit_run
from .unit import Unit
from .unit_file import read_work

START, SOLUTION, WRONG = "start", "solution", "wrong"


@dataclass(frozen=True)
class Case:
    """A piece of work that is graded, and what must come of it."""

    unit: Unit
    kind: str
    file: Path | None
    seed: int
    hints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in `prob1: wrong/rate-raised, variant 2`."""
        own = self.kind if self.file is None else self.file.stem
        variant = self.unit.variant(self.seed)
        name = f"{self.unit.name}: {'wrong/' * (self.kind == WRONG)}{own}"
        return f"{name}, variant {variant}" if variant else name


@dataclass(frozen=True)
class Verdict:
    """What came of a case."""

    name: str
    kind: str
    is_right: bool
    points: float
    of: float
    missed: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why it is not as it should be."""
    seconds: float


def cases(unit: Unit) -> Iterator[Case]:
    """All of a unit; none if it is a lab, whose steps are followed and not found."""
    if unit.kind == "lab":
        return
    seeds = range(1, max(1, len(unit.variants)) + 1)
    for seed in seeds:
        yield Case(unit, START, None, seed)
    for file in sorted(unit.folder.glob("solution*.yaml")):
        _, _, number = file.stem.partition("-")
        own = [int(number)] if number and unit.variants else seeds
        for seed in own:
            yield Case(unit, SOLUTION, file, seed)
    for file in sorted((unit.folder / "wrong").glob("*.yaml")):
        work = read_work(file)
        yield Case(unit, WRONG, file, work.seed or work.variant or 1, work.hints)


def run_case(case: Case, say: Callable[[str], None] = lambda line: None) -> Verdict:
    """Grades it in a network of its own."""
    began = time.monotonic()
    try:
        report = unit_run.grade_work(
            case.unit, case.file, seed=case.seed, clock="virtual", say=say, quick=True
        )
    except WanlabError as error:
        report = {"points": 0.0, "of": 0.0, "passed": None, "checks": [], "problems": [str(error)]}
    missed = [check for check in report["checks"] if not check["passed"]]
    reasons = tuple(_reasons(case, report, missed))
    return Verdict(
        name=case.name,
        kind=case.kind,
        is_right=not reasons,
        points=report["points"],
        of=report["of"],
        missed=tuple(f"{check['what']}: {check['value_text']}" for check in missed),
        reasons=reasons,
        seconds=round(time.monotonic() - began, 1),
    )


def _reasons(case: Case, report: dict[str, Any], missed: list[dict[str, Any]]) -> Iterator[str]:
    yield from report["problems"]
    if case.kind == SOLUTION:
        yield from (f"missed: {c['what']} {c['value_text']} {c['reason']}".strip() for c in missed)
        return
    if report["passed"]:
        yield "it passes"
    said = " ".join(check["hint"] for check in missed)
    yield from (f"no hint says {hint!r}" for hint in case.hints if hint not in said)
