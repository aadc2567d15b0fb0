"""What came of a step: its output, and the manual's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wanlab.errors import WanlabError
from wanlab.measure.metrics import StepOutput, depends_on_host_speed, parse_metric

from .lab import readable
from .unit import Band, Expectation, Step

REPRODUCED, EXPLAINED, OPEN = "reproduced", "explained", "open"
NONE = StepOutput()
TEXT = 'says "'
"""How the name of a figure begins that is no number but a text which must occur."""
REAL_CLOCK = (
    "on the real clock the speed of this computer, and what else it has to do, has a part in it "
    "(docs/fidelity.md, A path without a limit)"
)


@dataclass(frozen=True)
class Figure:
    """One number (or text) of the manual's beside ours."""

    what: str
    manual: str
    ours: float | None
    unit: str
    band: Band
    status: str
    why: str = ""

    @property
    def ours_text(self) -> str:
        return "-" if self.ours is None else f"{readable(self.ours)} {self.unit}".strip()

    def report(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "manual": self.manual,
            "ours": self.ours,
            "ours_text": self.ours_text,
            "unit": self.unit,
            "band": band_text(self.band),
            "at_least": self.band.at_least,
            "at_most": self.band.at_most,
            "status": self.status,
            "why": self.why,
        }


@dataclass
class Outcome:
    """Of one step."""

    step: Step
    output: str = ""
    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    began_s: float = 0.0
    seconds: float = 0.0
    clock: str = "virtual"
    step_output: StepOutput | None = None
    """What its numbers were taken from; what is told later may be taken from it, too."""

    @property
    def is_performed(self) -> bool:
        return not self.step.skip and not self.problems

    def judge(self, step_output: StepOutput, others: Mapping[int, StepOutput]) -> None:
        """Looks for all that the manual tells of this step; `others` are those of other steps."""
        self.step_output = step_output
        self.figures += [
            self._figure(
                expected, step_output if expected.of is None else others.get(expected.of, NONE)
            )
            for expected in self.step.expect
        ]
        self.figures += [told(words, step_output.output) for words in self.step.says]

    def _figure(self, expected: Expectation, step_output: StepOutput) -> Figure:
        figure = figure_of(expected, step_output)
        is_measured = figure.ours is not None and depends_on_host_speed(expected.metric)
        if figure.status == OPEN and is_measured and self.clock == "real":
            return replace(figure, status=EXPLAINED, why=REAL_CLOCK)
        return figure

    def report(self) -> dict[str, Any]:
        step = self.step
        return {
            "n": step.n,
            "at": step.at,
            "where": ",".join(step.where),
            "command": step.text,
            "printed": step.printed,
            "note": step.note,
            "skipped": step.skip,
            "optional": step.is_optional,
            "output": self.output,
            "figures": [figure.report() for figure in self.figures],
            "problems": self.problems,
            "began_s": round(self.began_s, 6),
            "seconds": round(self.seconds, 6),
        }


def figure_of(expected: Expectation, step_output: StepOutput) -> Figure:
    try:
        ours = parse_metric(expected.metric)(step_output).value
    except WanlabError as error:
        return _figure(expected, None, EXPLAINED if expected.explained else OPEN, str(error))
    if expected.band == Band():
        # Without a band nothing is claimed.
        status, why = (EXPLAINED, expected.why) if expected.why else (OPEN, "no band was set")
    elif expected.band.holds(ours):
        status, why = REPRODUCED, expected.why
    elif expected.explained:
        status, why = EXPLAINED, expected.explained
    else:
        status, why = OPEN, expected.why
    return _figure(expected, ours, status, why)


def skipped(expected: Expectation, reason: str) -> Figure:
    return _figure(expected, None, EXPLAINED, f"skipped: {reason}")


def _figure(expected: Expectation, ours: float | None, status: str, why: str) -> Figure:
    if status == EXPLAINED and expected.explained:
        why = expected.explained
    what, manual, unit, band = expected.what, expected.manual, expected.unit, expected.band
    return Figure(what, manual, ours, unit, band, status, why)


def told(words: str, output: str) -> Figure:
    """A text that must occur; white space is as wide as it likes."""
    is_there = " ".join(words.split()) in " ".join(output.split())
    status = REPRODUCED if is_there else OPEN
    why = "" if is_there else "it does not occur in the output"
    return Figure(f'{TEXT}{words}"', words, float(is_there), "", Band(1, 1), status, why)


def band_text(band: Band) -> str:
    least, most = (None if n is None else readable(n) for n in (band.at_least, band.at_most))
    if least is None and most is None:
        return "any"
    if least is None or most is None:
        return f"{least} or more" if most is None else f"{most} or less"
    return least if least == most else f"{least} to {most}"


def count(figures: Sequence[Figure], status: str) -> int:
    return sum(figure.status == status for figure in figures)
