"""Write docs/evidence/course.md: the units, the skipped steps, and every number beside the manual's."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from wanlab.text_table import markdown

from .agreement import COMPARED, CONTRADICTS, HOLDS, SAME, TOLERANCE, UNKNOWN, WITHIN
from .distribution import (
    CONSTANT,
    INSIDE,
    OUTSIDE,
    Key,
    NumberDistribution,
    UnitDistribution,
    figures,
)
from .outcome import TEXT, ratio_text, readable
from .report import FigureReport, UnitReport
from .summary import HEADS, SummaryRow, cells, totals

WIDTH = 100
VERDICTS = (CONSTANT, INSIDE, OUTSIDE)
DISTRIBUTIONS = "docs/evidence/distributions"
COMMAND = f"wanlab lab run all --table docs/evidence/course.md --distributions {DISTRIBUTIONS}"
Distributions = Mapping[str, UnitDistribution]


def page(
    rows: Sequence[SummaryRow],
    reports: Mapping[str, UnitReport],
    conditions: str,
    distributions: Distributions,
    seed_reasons: Mapping[str, str],
) -> str:
    """Return the page. The keys of reports, distributions and reasons for seeds are units' names."""
    lines = [
        "# The course",
        "",
        *_introduction(rows, conditions),
        "",
        *_table(
            ("", *HEADS),
            [(row["title"] or row["error"], *cells(row["name"], row)) for row in rows],
        ),
        "",
        *_table(("", *HEADS[1:]), [cells("total", totals(rows))]),
        *_many_seeds(reports, distributions),
        "",
        "## Steps that were not performed",
        "",
        *(line for report in reports.values() for line in _skipped(report)),
        "",
        "## Numbers",
        "",
        *_columns(),
    ]
    for name, report in reports.items():
        lines += _numbers(report, distributions.get(name), seed_reasons.get(name, ""))
    return "\n".join([*lines, ""])


def _introduction(rows: Sequence[SummaryRow], conditions: str) -> Iterator[str]:
    """Yield the first paragraphs: the sums, and the meaning of the statuses."""
    whole = totals(rows)
    kinds = whole["kinds"]
    yield from (
        _filled(
            "wanlab's course follows a lab manual whose numbers were measured with Mininet. This page "
            "compares each of these numbers with wanlab's, so that you can judge how far the labs agree "
            f"with the manual. It was written by `{COMMAND}`. Conditions: {conditions}"
        ),
        "",
        _filled(
            f"{whole['performed']} of {whole['steps']} steps were performed, and "
            f"{whole['checks_passed']} of {whole['checks']} checks passed. The manual prints "
            f"{sum(kinds[status] for status in COMPARED)} numbers that wanlab can be compared with:"
        ),
        "",
        _item(
            f"*{WITHIN}* ({kinds[WITHIN]}): the manual's number is at most {TOLERANCE * 100:g} % from "
            "ours, or in the range over our seeds. Two times that are both at most 0.1 ms are equal. "
            "There is no other rule for rare events: a count of retransmissions is compared like any "
            "number, because they come in bursts."
        ),
        _item(
            f"*{SAME}* ({kinds[SAME]}): another number, for a stated cause. What the lesson teaches "
            "with it is so here, too, and that is what the check tests: our number is in the band "
            "of the unit's `lab.yaml`."
        ),
        _item(
            f"*{CONTRADICTS}* ({kinds[CONTRADICTS]}): our number is outside that band, so the number, "
            "or what the lesson says about it, is not so here. The cause is stated."
        ),
        _item(f"*{UNKNOWN}* ({kinds[UNKNOWN]}): another number, and we do not know why."),
        "",
        _filled(
            f"In {kinds[HOLDS]} more places, the manual gives a text, words or no number at all, and "
            f"what it says or what wanlab predicts is so (*{HOLDS}*). Texts are counted but not listed."
        ),
    )


def _columns() -> Iterator[str]:
    """Yield the paragraphs that explain the columns of the units' tables."""
    yield _filled(
        "In these tables, *manual* is the number as the manual prints it, *ours* is wanlab's, *ratio* "
        "is ours as a multiple of the manual's, and *over seeds* is the range from our lowest to our "
        "highest value, if the unit was run with many seeds. *Cause* is the number of a sentence below "
        "the table."
    )


def _skipped(report: UnitReport) -> Iterator[str]:
    for step in report["steps"]:
        reason = step["skipped"] or "; ".join(step["problems"])
        if reason:
            yield _item(f"{report['heading']}, step {step['n']}: {_cell(reason)}")


# -- with many seeds ------------------------------------------------------------------------------


def _many_seeds(reports: Mapping[str, UnitReport], distributions: Distributions) -> Iterator[str]:
    """Yield the section on distributions: a row for each unit, and the numbers that are outside."""
    known = {
        name: _distributed(report, distributions[name])
        for name, report in reports.items()
        if name in distributions
    }
    if not known:
        return
    table = []
    for name, numbers in known.items():
        counts = _count_verdicts(number for number, _ in numbers)
        shown = map(str, counts.values())
        runs, kernel = distributions[name].runs, distributions[name].kernel
        table.append((reports[name]["heading"], str(runs), kernel, str(len(numbers)), *shown))
    yield from (
        "",
        "## With many seeds",
        "",
        _filled(
            "A run with one seed shows one of many possible outcomes, as each run in the manual did. To "
            "see how typical the manual's numbers are, these units were run with several seeds (`wanlab "
            f"lab run UNIT --seeds NUMBER`; all values are in `{DISTRIBUTIONS}`). A number is "
            f"*{CONSTANT}* if every seed gives the same value. Otherwise, the manual's number is "
            f"*{INSIDE}* or *{OUTSIDE}* the range from the lowest to the highest value."
        ),
        "",
        *_table(("unit", "seeds", "kernel", "numbers", *VERDICTS), table),
    )


def _count_verdicts(numbers: Iterable[NumberDistribution]) -> Mapping[str, int]:
    """Return how many numbers have each of the VERDICTS, in their order."""
    counts = Counter(number.verdict for number in numbers)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _distributed(
    report: UnitReport, known: UnitDistribution
) -> list[tuple[NumberDistribution, FigureReport]]:
    """Return the numbers of a report that have a distribution."""
    pairs = ((known.find(key, figure), figure) for key, figure in figures(report))
    return [(number, figure) for number, figure in pairs if number is not None]


def _range(number: NumberDistribution | None, figure: FigureReport) -> str:
    """Return the range over seeds, with their number."""
    if number is None:
        return "{} to {}".format(*map(readable, figure["seeds"])) if figure["seeds"] else ""
    low, high = map(readable, number.range)
    values = low if number.verdict == CONSTANT else f"{low} to {high}"
    return f"{values} ({len(number.values)})"


# -- one unit -------------------------------------------------------------------------------------


def _numbers(report: UnitReport, known: UnitDistribution | None, seed_reason: str) -> Iterator[str]:
    shown = [
        (key, figure)
        for key, figure in figures(report)
        if figure["status"] != HOLDS or not figure["what"].startswith(TEXT)
    ]
    if not shown:
        return
    yield from ("", f"### {report['heading']}", "")
    if seed_reason:
        yield from (_filled(f"Seed {report['seed']}: {_one_line(seed_reason)}"), "")
    causes = [*dict.fromkeys(figure["cause"] for _, figure in shown if figure["cause"])]
    heads = ("step", "what", "manual", "ours", "ratio", "over seeds", "kind", "cause")
    yield from _table(heads, [_row(key, figure, known, causes) for key, figure in shown])
    if causes:
        yield ""
    for number, cause in enumerate(causes, 1):
        yield _filled(f"{number}. {_cell(cause)}", "   ")


def _row(
    key: Key, figure: FigureReport, known: UnitDistribution | None, causes: Sequence[str]
) -> tuple[str, ...]:
    number = known.find(key, figure) if known is not None else None
    return (
        str(key[1]),
        figure["what"],
        figure["manual"],
        _ours(figure),
        ratio_text(figure["ratio"]),
        _range(number, figure),
        figure["status"],
        str(causes.index(figure["cause"]) + 1) if figure["cause"] else "",
    )


def _ours(figure: FigureReport) -> str:
    if figure["what"].startswith(TEXT):
        return "yes" if figure["ours"] else "no"
    return figure["ours_text"]


# -- Markdown -------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from markdown(heads, [[*map(_cell, row)] for row in rows])


def _cell(words: str) -> str:
    """Return text in one line, with Markdown's special characters escaped."""
    return re.sub(r"([\\|*])", r"\\\1", _one_line(words))


def _one_line(words: str) -> str:
    return " ".join(words.split())


def _filled(words: str, indent: str = "") -> str:
    return textwrap.fill(
        words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _item(words: str) -> str:
    return _filled(f"* {words}", "  ")
