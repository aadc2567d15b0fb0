"""The outcome of a step: its output, and the manual's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wanlab.errors import WanlabError
from wanlab.measure.metrics import StepOutput, depends_on_host_speed, parse_metric

from .report import EXPLAINED, OPEN, REPRODUCED, FigureReport, StepReport
from .unit import Band, Expectation, Step

NO_OUTPUT = StepOutput()
"""The output of a step that was not performed, although a figure refers to it."""
TEXT = 'says "'
"""The beginning of a figure's name, if the figure is a text that must occur in the output."""
REAL_CLOCK = (
    "on the real clock, this also depends on the speed of this computer and on what else it is "
    "doing (docs/fidelity.md, A path without a limit)"
)


@dataclass(frozen=True)
class Figure:
    """One figure (or text) of the manual beside ours."""

    what: str
    manual: str
    ours: float | None
    unit: str
    band: Band
    status: str
    why: str = ""

    def report(self) -> FigureReport:
        ours_text = "-" if self.ours is None else f"{readable(self.ours)} {self.unit}".strip()
        return {
            "what": self.what,
            "manual": self.manual,
            "ours": self.ours,
            "ours_text": ours_text,
            "unit": self.unit,
            "band": band_text(self.band),
            "at_least": self.band.at_least,
            "at_most": self.band.at_most,
            "status": self.status,
            "why": self.why,
        }


@dataclass
class Outcome:
    """The outcome of one step. Times are of the network's clock."""

    step: Step
    output: str = ""
    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    began_s: float = 0.0
    seconds: float = 0.0
    clock: str = "virtual"
    step_output: StepOutput | None = None
    """The output from which its figures were computed; figures of later steps may use it, too."""

    @property
    def is_performed(self) -> bool:
        return not self.step.skip and not self.problems

    def compare(self, step_output: StepOutput, others: Mapping[int, StepOutput]) -> None:
        """Compute this step's figures. `others` are the outputs of other steps, by number."""
        self.step_output = step_output
        for expected in self.step.expect:
            source = step_output if expected.of is None else others.get(expected.of, NO_OUTPUT)
            self.figures.append(self._figure(expected, source))
        self.figures += [text_figure(text, step_output.output) for text in self.step.says]

    def _figure(self, expected: Expectation, step_output: StepOutput) -> Figure:
        figure = number_figure(expected, step_output)
        is_measured = figure.ours is not None and depends_on_host_speed(expected.metric)
        if figure.status == OPEN and is_measured and self.clock == "real":
            return replace(figure, status=EXPLAINED, why=REAL_CLOCK)
        return figure

    def report(self) -> StepReport:
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


# -- figures --------------------------------------------------------------------------------------


def number_figure(expected: Expectation, step_output: StepOutput) -> Figure:
    """Compute the number that a step's expectation names, and compare it with its band."""
    try:
        ours = parse_metric(expected.metric)(step_output).value
    except WanlabError as error:
        return _figure(expected, None, EXPLAINED if expected.explained else OPEN, str(error))
    if expected.band == Band():
        # Without a band, nothing was predicted.
        status, why = (EXPLAINED, expected.why) if expected.why else (OPEN, "no band was set")
    elif expected.band.holds(ours):
        status, why = REPRODUCED, expected.why
    elif expected.explained:
        status, why = EXPLAINED, expected.explained
    else:
        status, why = OPEN, expected.why
    return _figure(expected, ours, status, why)


def skipped_figure(expected: Expectation, reason: str) -> Figure:
    """Return the figure of a step that is not performed."""
    return _figure(expected, None, EXPLAINED, f"skipped: {reason}")


def text_figure(text: str, output: str) -> Figure:
    """Look for a text that must occur in the output, ignoring differences in white space."""
    occurs = " ".join(text.split()) in " ".join(output.split())
    status = REPRODUCED if occurs else OPEN
    why = "" if occurs else "it does not occur in the output"
    return Figure(f'{TEXT}{text}"', text, float(occurs), "", Band(1, 1), status, why)


def _figure(expected: Expectation, ours: float | None, status: str, why: str) -> Figure:
    if status == EXPLAINED and expected.explained:
        why = expected.explained
    what, manual, unit, band = expected.what, expected.manual, expected.unit, expected.band
    return Figure(what, manual, ours, unit, band, status, why)


def count(figures: Sequence[Figure], status: str) -> int:
    return sum(figure.status == status for figure in figures)


# -- as text --------------------------------------------------------------------------------------


def readable(number: float) -> str:
    """Format a number for people: no exponent, thousands separated, four significant digits."""
    if number == int(number) or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


ANY_BAND = "any"


def band_text(band: Band, unit: str = "") -> str:
    """Format a band: "900 to 960 Mbit/s", "1 or more"."""
    least, most = (None if n is None else readable(n) for n in (band.at_least, band.at_most))
    if least is None and most is None:
        return ANY_BAND
    if (least, most) == (None, "0"):
        return "0"
    unit = f" {unit}" if unit else ""
    if least is None or most is None:
        return f"{least}{unit} or more" if most is None else f"{most}{unit} or less"
    return f"{least}{unit}" if least == most else f"{least} to {most}{unit}"
