"""The report of a run as text: the manual's figures beside ours, in at most 80 columns.

what                    manual          ours  ratio  kind
-------------------  ---------  ------------  -----  ------
step 28, h1$ xdg-open throughput.pdf
  1 BDP, throughput  about 900  954.8 Mbit/s   1.06  within
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from wanlab.measure import Drop
from wanlab.measure.lost_packets import sentence
from wanlab.text_table import GAP, aligned_row, column_widths

from .agreement import WITHIN
from .outcome import TEXT, counts_text, drop_of, ratio_text
from .report import (
    CheckReport,
    FigureReport,
    GradeReport,
    LossReport,
    StepReport,
    UnitReport,
    all_steps,
)

WIDTH = 80
MIN_NAME_WIDTH = 16
HEADINGS = ("what", "manual", "ours", "ratio", "kind")
ALIGNMENTS = "<>>><"


def text(report: UnitReport) -> str:
    """Return the whole report: the table, the checks, and sums."""
    lines = [report["heading"], *processor_lines(report), "", *_table(report)]
    if report["check"]:
        lines += ["", *check_lines(report["check"])]
    lines += [f"warning: {warning}" for warning in report["warnings"]]
    lines += _lost(report)
    lines += [
        "",
        f"{report['performed']} of {report['steps_count']} steps performed",
        *textwrap.wrap(counts_text(report["counts"]), WIDTH),
    ]
    return "\n".join(lines) + "\n"


def processor_lines(report: UnitReport) -> list[str]:
    """Return what a run's processor means for the comparison with the manual."""
    if "cpu" not in report:
        return []
    return [
        f"processor {report['cpu']}; the unit's bands and causes are for computing that takes no time"
    ]


def check_lines(report: GradeReport) -> Iterator[str]:
    """Yield the grade: a line for each check, a hint for each that fails, and the points."""
    for check in report["checks"]:
        mark = "passed" if check["passed"] else "MISSED"
        value = "" if check["value"] is None else f": {check['value_text']} ({band(check)})"
        yield f"{mark}  {check['points']:g} of {check['of']:g}  {check['what']}{value}"
        if check["passed"] and check["hint"]:
            yield f"        ({check['hint']})"
        elif check["hint"]:
            yield f"        hint: {check['hint']}"
        if check["reason"]:
            yield f"        ({check['reason']})"
    for path in report.get("changed_programs", ()):
        yield f"programs changed: {path} (the checks used the original)"
    for problem in report.get("problems", ()):
        yield f"note: {problem}"
    yield f"{report['points']:g} of {report['of']:g} points"


def band(check: CheckReport) -> str:
    """Return the band of a check in words: "right: 900 to 960", "right: 0", "any value is right"."""
    return f"right: {check['band']}" if check["band"] != "any" else "any value is right"


# -- the table ------------------------------------------------------------------------------------


def _table(report: UnitReport) -> Iterator[str]:
    figures = [figure for part in _parts(report) for step in part[1] for figure in step["figures"]]
    rows = [_cells(figure) for figure in figures if not _is_text(figure)]
    widths = column_widths([HEADINGS, *rows])
    # Only names are broken into several lines, between words; numbers are not.
    widths[0] = max(MIN_NAME_WIDTH, min(widths[0], WIDTH - sum(widths[1:]) - len(GAP) * 4))
    if rows:
        yield from _row(HEADINGS, widths)
        yield GAP.join("-" * width for width in widths)
    for name, steps in _parts(report):
        for step in steps:
            if step["figures"] or step["problems"] or step["skipped"]:
                yield from _step(step, name, widths)


def _parts(report: UnitReport) -> Sequence[tuple[str, Sequence[StepReport]]]:
    return ("step", report["steps"]), ("solution, step", report["solution"])


def _step(step: StepReport, name: str, widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a step: its command, its figures, and whatever went wrong."""
    command = (step["command"] or step["at"]).splitlines()[0]
    yield textwrap.shorten(f"{name} {step['n']}, {command}", WIDTH, placeholder=" ...")
    if step["skipped"]:
        yield from _wrapped(f"skipped: {step['skipped']}")
    for problem in step["problems"]:
        yield from _wrapped(f"problem: {problem}")
    for figure in step["figures"]:
        if _is_text(figure):
            yield from _text_row(figure)
        else:
            yield from _row(_cells(figure), widths)
        if figure["status"] != WITHIN and figure["cause"]:
            yield from _wrapped(figure["cause"], indent="    ")


def _is_text(figure: FigureReport) -> bool:
    return figure["what"].startswith(TEXT)


def _cells(figure: FigureReport) -> tuple[str, ...]:
    return (
        f"  {figure['what']}",
        figure["manual"],
        figure["ours_text"],
        ratio_text(figure["ratio"]),
        figure["status"],
    )


def _text_row(figure: FigureReport) -> Iterator[str]:
    """Yield a row without numbers: a text that must occur, or does not."""
    what = textwrap.shorten(figure["what"], WIDTH - 17, placeholder=" ...")
    yield f"  {what}{GAP}{figure['status']}"


def _lost(report: UnitReport) -> Iterator[str]:
    """Yield a sentence for each place that lost packets for one reason, most packets first."""
    losses: dict[tuple[str, str, str], list[tuple[int, LossReport]]] = {}
    for step in all_steps(report):
        for loss in step["lost"]:
            losses.setdefault((loss["place"], loss["what"], loss["cause"]), []).append(
                (step["n"], loss)
            )
    if losses:
        yield from ("", "packets were lost:")
    for found in sorted(losses.values(), key=lambda found: -sum(it["packets"] for _, it in found)):
        first, last = found[0][0], found[-1][0]
        when = f"step {first}" if first == last else f"steps {first} to {last}"
        yield from _wrapped(f"{when}: {sentence(_together([loss for _, loss in found]))}")


def _together(losses: Sequence[LossReport]) -> Drop:
    """Return losses at one place as one. Steps in which nothing counts what came have no share."""
    came = sum(loss["packets"] / loss["share"] for loss in losses if loss["share"])
    packets = sum(loss["packets"] for loss in losses)
    first = drop_of(losses[0])
    return replace(first, packets=packets, share=packets / came if came else 0.0)


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of one row; a name that is too long continues below."""
    first, *more = textwrap.wrap(cells[0], widths[0], subsequent_indent="    ") or [""]
    yield aligned_row([first, *cells[1:]], widths, ALIGNMENTS)
    yield from more


def _wrapped(words: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent=indent, subsequent_indent=indent)
