"""The numbers of the course that contradict the manual, or differ for a cause that is not known.

They are taken from the tables of docs/evidence/course.md, which `wanlab lab run all` writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "course.md"
KINDS = ("contradicts", "cause unknown")


def table() -> str:
    """Return a Markdown table of them."""
    rows = ("| unit | what | manual | ours | |", "|---|---|---|---|---|", *_rows())
    return "\n".join(rows)


def _rows() -> Iterator[str]:
    unit = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            unit = line.removeprefix("### ").partition(":")[0]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if re.match(r"\| \d+ \| ", line) and len(cells) > 6 and cells[6] in KINDS:
            yield f"| {unit} | {cells[1]} | {cells[2]} | {cells[3]} | {cells[6]} |"
