"""A lab's findings as a table of text, no wider than a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

WIDTH = 80
GAP = "  "
NARROWEST = 12
HEADINGS = ("what", "manual", "ours", "band", "")
LEFT, RIGHT = str.ljust, str.rjust
ALIGNMENT = (LEFT, RIGHT, RIGHT, LEFT, LEFT)
REPRODUCED, DIFFERS = "ok", "NO"


def text(report: dict[str, Any]) -> str:
    """The report of `results`, for people."""
    findings = report["findings"]
    lines = [f"Lab {report['lab']}: {report['title']}", "", *_table(findings), ""]
    lines += [
        f"{finding['what']} differs: {finding['why'] or 'it is outside its band'}"
        for finding in findings
        if not finding["reproduced"]
    ]
    lines += [f"warning: {warning}" for warning in report["warnings"]]
    lines.append(f"{report['reproduced']} of {len(findings)} reproduced")
    return "\n".join(lines) + "\n"


def _table(findings: Sequence[dict[str, Any]]) -> list[str]:
    rows = [
        (
            finding["what"],
            finding["manual"],
            f"{finding['ours_text']} {finding['unit']}".strip(),
            finding["band"],
            REPRODUCED if finding["reproduced"] else DIFFERS,
        )
        for finding in findings
    ]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    # Numbers are not broken; names are, between words.
    widths[0] = max(NARROWEST, min(widths[0], WIDTH - sum(widths[1:]) - len(GAP) * 4))
    rule = ["-" * width for width in widths]
    return [line for row in (HEADINGS, rule, *rows) for line in _lines(row, widths)]


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """One row; a name that is too long goes on below."""
    first, *more = textwrap.wrap(row[0], widths[0]) or [""]
    cells = [first, *row[1:]]
    aligned = (
        align(cell, width) for align, cell, width in zip(ALIGNMENT, cells, widths, strict=True)
    )
    return [GAP.join(aligned).rstrip(), *(f"  {rest}" for rest in more)]
