"""What came of many units: a row of each, as a table for the terminal, JSON, HTML or the course's page.

A row is made of the report that a unit's run has left; a unit that left none has its error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from .outcome import EXPLAINED, OPEN, REPRODUCED, TEXT
from .page import STYLE

Report = Mapping[str, Any]
Row = dict[str, Any]
STATUSES = (REPRODUCED, EXPLAINED, OPEN)
HEADS = ("unit", "steps", "checks", *STATUSES, "wall s", "virtual s")


def row_of(name: str, status: int, report: Report | None, error: str) -> Row:
    """`status` is that of its run; `error` is told if there is no report."""
    if report is None:
        empty = dict.fromkeys(("title", "performed", "steps", *STATUSES, "checks_passed", "checks"))
        more = dict.fromkeys(("points", "of", "wall_s", "virtual_s", "report"))
        return {"name": name, "status": status, **empty, **more, "error": error}
    check = report["check"]
    passed = [one["passed"] for one in check["checks"]] if check else []
    return {
        "name": name,
        "status": status,
        "title": report["heading"],
        "performed": report["performed"],
        "steps": report["steps_count"],
        **{status: report["counts"][status] for status in STATUSES},
        "checks_passed": sum(passed),
        "checks": len(passed),
        "points": check["points"] if check else None,
        "of": check["of"] if check else None,
        "wall_s": report["real_s"],
        "virtual_s": report["virtual_s"],
        "report": f"{report['folder'].rpartition('/')[2]}/report.html",
        "error": "; ".join(_faults(report)),
    }


def _faults(report: Report) -> Iterator[str]:
    """Why the status of its run is not 0."""
    steps = [*report["steps"], *report["solution"]]
    if failed := [step for step in steps if step["problems"]]:
        yield f"step {failed[0]['n']}: {failed[0]['problems'][0]}".splitlines()[0]
    if report["counts"][OPEN]:
        yield f"{report['counts'][OPEN]} open"
    if report["check"] and not report["check"]["passed"]:
        yield "a check is missed"


def totals(rows: Sequence[Row]) -> Row:
    """The sum of everything that is counted."""
    keys = ("performed", "steps", "checks_passed", "checks", *STATUSES, "wall_s", "virtual_s")
    return {key: sum(row[key] or 0 for row in rows) for key in keys}


def cells(row: Row) -> tuple[str, ...]:
    """Of the table, under HEADS."""
    return (
        row.get("name", "together"),
        _of(row["performed"], row["steps"]),
        _of(row["checks_passed"], row["checks"]),
        *("-" if row[status] is None else str(row[status]) for status in STATUSES),
        *("-" if row[key] is None else f"{row[key]:.0f}" for key in ("wall_s", "virtual_s")),
    )


def _of(part: int | None, whole: int | None) -> str:
    return "-" if whole is None else f"{part} of {whole}"


def text(rows: Sequence[Row]) -> str:
    """For a terminal."""
    table = [HEADS, *(cells(row) for row in rows), cells(totals(rows))]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADS))]
    errors = ["", *(row["error"] for row in rows), ""]
    return "".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        + (f"  {error}" if error else "")
        + "\n"
        for line, error in zip(table, errors, strict=True)
    )


def page(rows: Sequence[Row], heading: str) -> str:
    """HTML, which leads to the reports that lie beside it."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(heading)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(heading)}</h1><table><tr>",
        *(f"<th>{escape(head)}</th>" for head in ("", *HEADS)),
        "</tr>",
    ]
    for row in [*rows, totals(rows)]:
        title, error = (escape(row.get(key) or "") for key in ("title", "error"))
        link = f'<a href="{escape(row["report"])}">{title}</a>' if row.get("report") else title
        link += f" <small>{error}</small>" if error else ""
        mark = ' class="open"' if row.get("status") else ""
        own = "".join(f"<td class=number>{escape(cell)}</td>" for cell in cells(row))
        parts.append(f"<tr{mark}><td>{link}</td>{own}</tr>")
    return "\n".join([*parts, "</table></body></html>", ""])


# -- docs/course.md -------------------------------------------------------------------------------


def markdown(rows: Sequence[Row], reports: Mapping[str, Report], said: str) -> str:
    """The course's page: the table, what was skipped, and every number of the manual's beside ours."""
    whole = totals(rows)
    numbers = sum(whole[status] for status in STATUSES)
    share = 100 * (whole[REPRODUCED] + whole[EXPLAINED]) / numbers if numbers else 0.0
    lines = [
        "# The course",
        "",
        f"Written by `wanlab lab run all --table`. {said}",
        "",
        f"{_of(whole['performed'], whole['steps'])} steps performed, "
        f"{_of(whole['checks_passed'], whole['checks'])} checks passed; of {numbers} numbers and texts "
        f"of the manual's {whole[REPRODUCED]} are reproduced, {whole[EXPLAINED]} explained and "
        f"{whole[OPEN]} open ({share:.1f} % reproduced or explained).",
        "",
        "A number is *reproduced* if ours is within a band that the unit's `lab.yaml` states with its",
        "reason; *explained* if it is not, or was not taken, and it is known why; otherwise *open*.",
        "Texts that occur as they should are counted, and not listed.",
        "",
        *_table(("", *HEADS), [(row["title"] or row["error"], *cells(row)) for row in rows]),
        "",
        *_table(("", *HEADS[1:]), [cells(whole)]),
        "",
        "## Steps that are not performed",
        "",
        *(f"* {line}" for name in reports for line in _skipped(reports[name])),
        "",
        "## Numbers",
    ]
    for report in reports.values():
        lines += _numbers(report)
    return "\n".join([*lines, ""])


def _skipped(report: Report) -> Iterator[str]:
    for step in report["steps"]:
        if step["skipped"]:
            yield f"{report['heading']}, step {step['n']}: {_cell(step['skipped'])}"
        elif step["problems"]:
            yield f"{report['heading']}, step {step['n']}: {_cell('; '.join(step['problems']))}"


def _numbers(report: Report) -> Iterator[str]:
    figures = [
        (step["n"], figure)
        for part in ("steps", "solution")
        for step in report[part]
        for figure in step["figures"]
        if figure["status"] != REPRODUCED or not figure["what"].startswith(TEXT)
    ]
    if not figures:
        return
    yield from ("", f"### {report['heading']}", "")
    yield from _table(
        ("step", "what", "manual", "ours", "band", "status"),
        [(str(n), f["what"], f["manual"], _ours(f), f["band"], f["status"]) for n, f in figures],
    )
    whys = dict.fromkeys(f["why"] for _, f in figures if f["status"] != REPRODUCED)
    for why in whys:
        own = [f"{f['what']} (step {n})" for n, f in figures if f["why"] == why]
        yield ""
        yield f"{'; '.join(_cell(one) for one in own)}: {_cell(why)}"


def _ours(figure: Mapping[str, Any]) -> str:
    if figure["what"].startswith(TEXT):
        return "yes" if figure["ours"] else "no"
    return str(figure["ours_text"])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"


def _cell(words: str) -> str:
    """In one line, and nothing in it is an order to Markdown."""
    return " ".join(words.split()).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")
