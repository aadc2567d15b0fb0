"""Many units in one table: for the terminal, as JSON, as HTML, or as the course's page.

No cell depends on the computer, so equal runs give equal tables.

A row contains the counts of a unit's report, or an error if the unit's run left no report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TypedDict

from wanlab.text_table import GAP, aligned

from .agreement import STATUSES
from .page import STYLE
from .report import UnitReport, all_figures, all_steps, is_astray

HEADS = ("unit", "steps", "checks", *STATUSES, "virtual s")


class Counts(TypedDict):
    """The counts of a unit, or of all units; None if the unit has no report."""

    performed: int | None
    steps: int | None
    checks_passed: int | None
    checks: int | None
    kinds: dict[str, int]
    """How many numbers are of each of the STATUSES; empty if there is no report."""
    virtual_s: float | None


class SummaryRow(Counts):
    """One unit."""

    name: str
    status: int
    """The exit status of the run."""
    title: str | None
    points: float | None
    of: float | None
    report: str | None
    """The path of the report's page, relative to the folder of results."""
    error: str


def row_of(
    name: str, status: int, report: UnitReport | None, error: str, folder: str
) -> SummaryRow:
    """Return the row of a unit, whose report is in `folder`. Without a report, `error` is shown."""
    if report is None:
        return {
            "name": name,
            "status": status,
            "title": None,
            "performed": None,
            "steps": None,
            "kinds": {},
            "checks_passed": None,
            "checks": None,
            "points": None,
            "of": None,
            "virtual_s": None,
            "report": None,
            "error": error,
        }
    check = report["check"]
    passed = [result["passed"] for result in check["checks"]] if check else []
    return {
        "name": name,
        "status": status,
        "title": report["heading"],
        "performed": report["performed"],
        "steps": report["steps_count"],
        "kinds": report["counts"],
        "checks_passed": sum(passed),
        "checks": len(passed),
        "points": check["points"] if check else None,
        "of": check["of"] if check else None,
        "virtual_s": report["virtual_s"],
        "report": f"{folder}/report.html",
        "error": "; ".join(_faults(report)),
    }


def _faults(report: UnitReport) -> Iterator[str]:
    """Yield why the exit status of the run is not 0."""
    if failed := [step for step in all_steps(report) if step["problems"]]:
        yield f"step {failed[0]['n']}: {failed[0]['problems'][0]}".splitlines()[0]
    if astray := sum(map(is_astray, all_figures(report))):
        yield f"{astray} outside {'its band' if astray == 1 else 'their bands'}"
    if report["check"] and not report["check"]["passed"]:
        yield "a check fails"


def totals(rows: Sequence[SummaryRow]) -> Counts:
    """Return the sums over all rows."""

    def count(value: Callable[[SummaryRow], int | None]) -> int:
        return sum(value(row) or 0 for row in rows)

    return {
        "performed": count(lambda row: row["performed"]),
        "steps": count(lambda row: row["steps"]),
        "checks_passed": count(lambda row: row["checks_passed"]),
        "checks": count(lambda row: row["checks"]),
        "kinds": {status: sum(row["kinds"].get(status, 0) for row in rows) for status in STATUSES},
        "virtual_s": sum(row["virtual_s"] or 0 for row in rows),
    }


def cells(name: str, counts: Counts) -> tuple[str, ...]:
    """Return the cells of a row, under HEADS."""
    seconds = counts["virtual_s"]
    return (
        name,
        _of(counts["performed"], counts["steps"]),
        _of(counts["checks_passed"], counts["checks"]),
        *(str(counts["kinds"].get(status, "-")) for status in STATUSES),
        "-" if seconds is None else f"{seconds:.0f}",
    )


def _of(part: int | None, whole: int | None) -> str:
    return "-" if whole is None else f"{part} of {whole}"


def _all_cells(rows: Sequence[SummaryRow]) -> list[tuple[str, ...]]:
    return [*(cells(row["name"], row) for row in rows), cells("total", totals(rows))]


def text(rows: Sequence[SummaryRow]) -> str:
    """Return the table for a terminal."""
    lines = aligned([HEADS, *_all_cells(rows)], ">" * len(HEADS))
    errors = ["", *(row["error"] for row in rows), ""]
    return "".join(
        line + (f"{GAP}{error}" if error else "") + "\n"
        for line, error in zip(lines, errors, strict=True)
    )


def page(rows: Sequence[SummaryRow], heading: str) -> str:
    """Return the table as HTML, with links to the reports beside it."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in ("", *HEADS))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f"<title>{escape(heading)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(heading)}</h1><table><tr>{heads}</tr>",
            *map(_html_row, rows),
            f"<tr><td></td>{_html(cells('total', totals(rows)))}</tr>",
            "</table></body></html>",
            "",
        ]
    )


def _html_row(row: SummaryRow) -> str:
    mark = ' class="open"' if row["status"] else ""
    return f"<tr{mark}><td>{_link(row)}</td>{_html(cells(row['name'], row))}</tr>"


def _link(row: SummaryRow) -> str:
    title, error = escape(row["title"] or ""), escape(row["error"])
    link = f'<a href="{escape(row["report"])}">{title}</a>' if row["report"] else title
    return f"{link} <small>{error}</small>" if error else link


def _html(cells: Sequence[str]) -> str:
    return "".join(f"<td class=number>{escape(cell)}</td>" for cell in cells)
