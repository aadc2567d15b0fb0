"""The outcome of a step: its output, and the manual's numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wanlab.errors import WanlabError
from wanlab.measure import Drop
from wanlab.measure.metrics import StepOutput, depends_on_host_speed, parse_metric

from . import agreement
from .agreement import COMPARED, CONTRADICTS, HOLDS, UNKNOWN, WITHIN
from .report import FigureReport, LossReport, StepReport
from .unit import Band, Expectation, Step

NO_OUTPUT = StepOutput()
"""The output of a step that was not performed, although a figure refers to it."""
TEXT = 'says "'
"""The beginning of a figure's name, if the figure is a text that must occur in the output."""
REAL_CLOCK = (
    "on the real clock, this also depends on the speed of this computer and on what else it is "
    "doing (wanlab docs fidelity, A path without a limit)"
)


@dataclass(frozen=True)
class Figure:
    """One figure (or text) of the manual beside ours."""

    expected: Expectation
    ours: float | None
    status: str
    in_band: bool
    cause: str = ""

    def report(self) -> FigureReport:
        expected = self.expected
        manual = agreement.manual_range(expected.manual, expected.means)
        unit, band = expected.unit, expected.band
        ours_text = "-" if self.ours is None else f"{readable(self.ours)} {unit}".strip()
        return {
            "what": expected.what,
            "manual": expected.manual,
            "ours": self.ours,
            "ours_text": ours_text,
            "unit": unit,
            "manual_range": manual,
            "ratio": agreement.ratio(manual, self.ours),
            "seeds": expected.seeds,
            "band": band_text(band),
            "at_least": band.at_least,
            "at_most": band.at_most,
            "in_band": self.in_band,
            "status": self.status,
            "cause": self.cause,
            "why": expected.why,
        }


@dataclass
class Outcome:
    """The outcome of one step. Times are of the network's clock."""

    step: Step
    output: str = ""
    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    lost: list[Drop] = field(default_factory=list)
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
        if not figure.in_band and is_measured and self.clock == "real":
            return replace(figure, status=CONTRADICTS, cause=REAL_CLOCK)
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
            "lost": [loss_report(drop) for drop in self.lost],
            "began_s": round(self.began_s, 6),
            "seconds": round(self.seconds, 6),
        }


def loss_report(drop: Drop) -> LossReport:
    return {
        "place": drop.place,
        "what": drop.what,
        "packets": drop.packets,
        "share": drop.share,
        "cause": drop.cause,
        "remedy": drop.remedy,
    }


def drop_of(loss: LossReport) -> Drop:
    return Drop("", **loss)


# -- figures --------------------------------------------------------------------------------------


def number_figure(expected: Expectation, step_output: StepOutput) -> Figure:
    """Compute the number that a step's expectation names, and compare it with the manual's."""
    try:
        ours = parse_metric(expected.metric)(step_output).value
    except WanlabError as error:
        return Figure(expected, None, UNKNOWN, in_band=False, cause=str(error))
    status, in_band = agreement.status(expected, ours), expected.band.holds(ours)
    if status == WITHIN:
        cause = agreement.rule(expected, ours) or ""
    elif not in_band and not expected.cause:
        cause = f"{readable(ours)} is outside the band {band_text(expected.band)}: {expected.why}"
    else:
        cause = expected.changed or expected.cause or expected.tried
    return Figure(expected, ours, status, in_band, cause)


def text_figure(text: str, output: str) -> Figure:
    """Look for a text that must occur in the output, ignoring differences in white space."""
    occurs = " ".join(text.split()) in " ".join(output.split())
    expected = Expectation(f'{TEXT}{text}"', "", text, band=Band(1, 1))
    cause = "" if occurs else "it does not occur in the output"
    return Figure(expected, float(occurs), HOLDS if occurs else UNKNOWN, occurs, cause)


def count(figures: Sequence[Figure], status: str) -> int:
    return sum(figure.status == status for figure in figures)


# -- as text --------------------------------------------------------------------------------------


def readable(number: float) -> str:
    """Format a number for people: no exponent, thousands separated, four significant digits."""
    if number == int(number) or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


def ratio_text(ratio: float | None) -> str:
    """Format our number as a multiple of the manual's: 0.14, 1.02, 43."""
    return "-" if ratio is None else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2f}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return how many numbers of the manual are of which kind, and how many texts hold."""
    kinds = ", ".join(f"{counts[status]} {status}" for status in COMPARED)
    numbers = sum(counts[status] for status in COMPARED)
    return f"numbers of the manual: {numbers} ({kinds}); texts that hold: {counts[HOLDS]}"


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
