"""Write docs/course.md: the table of units, the skipped steps, and every number beside the manual's."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from wanlab.text_table import markdown

from .distribution import (
    BAND_ONLY,
    CONSTANT,
    NEAR,
    OUTSIDE,
    WITHIN,
    Key,
    NumberDistribution,
    UnitDistribution,
    figures,
    range_name,
)
from .outcome import TEXT, readable
from .report import REPRODUCED, FigureReport, UnitReport
from .summary import HEADS, SummaryRow, cells, totals

WIDTH = 100
VERDICTS = (CONSTANT, WITHIN, BAND_ONLY, OUTSIDE)
DISTRIBUTIONS = "docs/distributions"
COMMAND = f"wanlab lab run all --table docs/course.md --distributions {DISTRIBUTIONS}"
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
        *_columns(bool(distributions)),
    ]
    for name, report in reports.items():
        lines += _numbers(report, distributions.get(name), seed_reasons.get(name, ""))
    return "\n".join([*lines, ""])


def _introduction(rows: Sequence[SummaryRow], conditions: str) -> Iterator[str]:
    """Yield the first paragraphs: the sums, and the meaning of the statuses."""
    whole = totals(rows)
    yield from (
        _filled(
            "wanlab's course follows a lab manual whose numbers were measured with Mininet. This page "
            "compares each of these numbers with wanlab's, so that you can judge how far the labs agree "
            f"with the manual. It was written by `{COMMAND}`. Conditions: {conditions}"
        ),
        "",
        _filled(
            f"{whole['performed']} of {whole['steps']} steps were performed, and "
            f"{whole['checks_passed']} of {whole['checks']} checks passed. Of the manual's "
            f"{_count(rows)} numbers and texts, {whole['reproduced']} are reproduced, "
            f"{whole['explained']} explained and {whole['open']} open:"
        ),
        "",
        _item(
            "*Reproduced*: wanlab's number is within the band that agrees with the manual. The unit's "
            "`lab.yaml` states each band, with a reason."
        ),
        _item(
            "*Explained*: the number is outside its band or was not measured, and `lab.yaml` says why."
        ),
        _item(
            "*Open*: the number is outside its band or was not measured, without an explanation."
        ),
        "",
        "Texts that appear as expected are counted but not listed.",
    )


def _columns(has_distributions: bool) -> Iterator[str]:
    """Yield the paragraphs that explain the columns of the units' tables."""
    yield _filled(
        "In these tables, *manual* is the number as the manual prints it, *ours* is wanlab's, and "
        "*band* is the range that counts as reproduced."
    )
    if has_distributions:
        yield ""
        yield _filled(
            "A unit that was run with many seeds has three more columns: the central 95 % of the values "
            "(the whole range, if there are fewer than 40 seeds), the verdict, and the percentage of "
            "seeds that gave less than the manual's number."
        )


def _count(rows: Sequence[SummaryRow]) -> int:
    whole = totals(rows)
    return sum(number or 0 for number in (whole["reproduced"], whole["explained"], whole["open"]))


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
    all_numbers = [number for numbers in known.values() for number, _ in numbers]
    sums = _count_verdicts(all_numbers)
    beyond_band = sum(each.verdict == CONSTANT and not each.includes_manual for each in all_numbers)
    near = sum(each.verdict == BAND_ONLY and each.is_near for each in all_numbers)
    yield from (
        "",
        "## With many seeds",
        "",
        _filled(
            "A run with one seed shows one of many possible outcomes, as each run in the manual did. To "
            "see how typical the manual's numbers are, these units were run with several seeds (`wanlab "
            f"lab run UNIT --seeds NUMBER`; all values are in `{DISTRIBUTIONS}`). The table counts the "
            "numbers by verdict:"
        ),
        "",
        *_verdicts(sums, beyond_band, near),
        "",
        _filled(
            "With fewer than 40 seeds, the range from the lowest to the highest value replaces the "
            "central 95 %. With few seeds, this range is too narrow, so *outside* and *band only* occur "
            "too often."
        ),
        "",
        *_table(("unit", "seeds", "kernel", "numbers", *VERDICTS), table),
    )
    outside = [line for name, numbers in known.items() for line in _outside(reports[name], numbers)]
    if outside:
        yield from (
            "",
            "The numbers that are *outside* (the units' sections give the reasons):",
            "",
        )
        yield from outside


def _count_verdicts(numbers: Iterable[NumberDistribution]) -> Mapping[str, int]:
    """Return how many numbers have each of the VERDICTS, in their order."""
    counts = Counter(number.verdict for number in numbers)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _verdicts(sums: Mapping[str, int], beyond_band: int, near: int) -> Iterator[str]:
    """Yield an item for each verdict, with its count and its meaning.

    `beyond_band` counts the CONSTANT numbers outside the manual's band, `near` the BAND_ONLY ones for
    which the manual's number is near.
    """
    varying = sum(sums.values()) - sums[CONSTANT]
    yield from (
        _item(
            f"*{CONSTANT}* ({sums[CONSTANT]} of {sum(sums.values())} numbers): every seed gives the "
            f"same value. {beyond_band} of these values {'is' if beyond_band == 1 else 'are'} outside "
            "the manual's band; the units' sections below say why."
        ),
        _item(
            f"*{WITHIN}* ({sums[WITHIN]} of the {varying} others): the manual's number is within the "
            "central 95 % of the seeds' values."
        ),
        _item(
            f"*{BAND_ONLY}* ({sums[BAND_ONLY]}): the manual's number is not within the central 95 %, or "
            "the manual gives no single number, but its band overlaps the central 95 %. For "
            f"{near} of these, the manual's number is less than {NEAR * 100:g} % away: wanlab's values "
            "vary so little that a small difference is enough."
        ),
        _item(
            f"*{OUTSIDE}* ({sums[OUTSIDE]}): the manual's band does not overlap the central 95 %. "
            "Chance alone does not explain the difference."
        ),
    )


def _distributed(
    report: UnitReport, known: UnitDistribution
) -> list[tuple[NumberDistribution, FigureReport]]:
    """Return the numbers of a report that have a distribution."""
    pairs = ((known.find(key, figure), figure) for key, figure in figures(report))
    return [(number, figure) for number, figure in pairs if number is not None]


def _outside(
    report: UnitReport, numbers: Sequence[tuple[NumberDistribution, FigureReport]]
) -> Iterator[str]:
    """Yield an item for each number that is outside."""
    for number, _ in numbers:
        if number.verdict == OUTSIDE:
            where = f"{report['heading']}, step {number.step}, {number.what}"
            yield _item(f"{_cell(where)}: wanlab's values are {number.side} the manual's band.")


def _seed_cells(number: NumberDistribution | None) -> tuple[str, ...]:
    """Return the range of a number, its verdict, and how many seeds are below the manual's number."""
    if number is None:
        return "", "", ""
    if number.verdict == CONSTANT:
        return "", CONSTANT, ""
    low, high = map(readable, number.central)
    place = number.place_of_manual
    return (
        low if low == high else f"{low} to {high}",
        number.verdict,
        "" if place is None else f"{place:.0%}",
    )


# -- one unit -------------------------------------------------------------------------------------


def _numbers(report: UnitReport, known: UnitDistribution | None, seed_reason: str) -> Iterator[str]:
    shown = [
        (key, figure)
        for key, figure in figures(report)
        if figure["status"] != REPRODUCED or not figure["what"].startswith(TEXT)
    ]
    if not shown:
        return
    yield from ("", f"### {report['heading']}", "")
    if seed_reason:
        yield from (_filled(f"Seed {report['seed']}: {_one_line(seed_reason)}"), "")
    heads = ["step", "what", "manual", "ours", "band", "status"]
    if known is not None:
        seeds = f"{range_name(known.runs)} of {known.runs} seeds"
        heads += [seeds, "verdict", "seeds below the manual"]
    yield from _table(heads, [_row(key, figure, known) for key, figure in shown])
    explained = [(key[1], figure) for key, figure in shown if figure["status"] != REPRODUCED]
    for reason in dict.fromkeys(figure["why"] for _, figure in explained):
        names = [f"{f['what']} (step {n})" for n, f in explained if f["why"] == reason]
        yield from ("", _item(f"**{'; '.join(map(_cell, names))}**: {_cell(reason)}"))


def _row(key: Key, figure: FigureReport, known: UnitDistribution | None) -> tuple[str, ...]:
    row = (
        str(key[1]),
        figure["what"],
        figure["manual"],
        _ours(figure),
        figure["band"],
        figure["status"],
    )
    return row if known is None else (*row, *_seed_cells(known.find(key, figure)))


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
