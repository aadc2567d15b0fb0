"""The page that a student gets back: points, measured values, and hints."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TypedDict

from .outcome import ANY_BAND
from .page import STYLE
from .report import CheckReport, GradeReport

MORE_STYLE = """
.points { font-size: 1.3rem; } .passed { color: #14692b; } .missed { color: #b3261e; }
.hint { background: #fff7e0; padding: .3rem .6rem; }
"""
CHANGED = "programs changed"
MAX_PROBLEMS = 10
MAX_PROBLEM_CHARACTERS = 300


class StudentResult(TypedDict):
    """The grade of one student in one unit."""

    student: str
    unit: str
    seed: int
    title: str
    points: float
    of: float
    handed_in: str
    """Date and time; empty if nothing was handed in."""
    late: str
    """How late the work was handed in; empty if it was in time."""
    notes: list[str]
    error: str
    """Why nothing could be graded."""
    missed: list[str]
    grade: GradeReport | None


def page(student: str, results: Sequence[StudentResult]) -> str:
    """Return a student's page: one HTML document that refers to no other files."""
    points, of = sum(r["points"] for r in results), sum(r["of"] for r in results)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(student)}</title><style>{STYLE}{MORE_STYLE}</style></head><body>",
        f"<h1>{escape(student)}</h1>",
        f'<p class="points">{points:g} of {of:g} points</p>',
        *map(_section, results),
        "</body></html>",
        "",
    ]
    return "\n".join(parts)


def comment(result: StudentResult) -> str:
    """Return one line for the column of comments."""
    if result["error"]:
        text = result["error"]
    elif result["missed"]:
        text = f"missed: {'; '.join(result['missed'])}"
    else:
        text = "all checks passed"
    notes = [*([f"late by {result['late']}"] if result["late"] else []), *result["notes"]]
    return ". ".join([text, *notes])


def _section(result: StudentResult) -> str:
    parts = [
        f"<h2>{escape(result['title'])}: {result['points']:g} of {result['of']:g} points</h2>",
        f'<p class="note">{escape(_about(result))}</p>',
    ]
    notes = [note for note in result["notes"] if not note.startswith(CHANGED)]  # shown below
    parts += [f'<p class="note">{escape(note)}</p>' for note in notes]
    if result["error"]:
        parts.append(f'<p class="missed">{escape(result["error"])}</p>')
    grade = result["grade"]
    if grade is None:
        return "\n".join(parts)
    rows = "".join(map(_row, grade["checks"]))
    heads = "<th>check<th class=number>points<th class=number>measured<th>right<th>"
    parts.append(f"<table><tr>{heads}</tr>{rows}</table>")
    if changed := grade.get("changed_programs"):
        parts.append(
            f'<p class="missed">Programs changed: {escape(", ".join(changed))}. The checks used '
            "the originals.</p>"
        )
    problems = [text[:MAX_PROBLEM_CHARACTERS] for text in grade.get("problems", [])]
    if problems:
        items = "".join(f"<li>{escape(problem)}</li>" for problem in problems[:MAX_PROBLEMS])
        parts.append(f"<p>Commands that failed:</p><ul>{items}</ul>")
    return "\n".join(parts)


def _about(result: StudentResult) -> str:
    words = [f"your number (seed): {result['seed']}"]
    words.append(f"handed in {result['handed_in']}" if result["handed_in"] else "not handed in")
    if result["late"]:
        words.append(f"late by {result['late']}")
    return ", ".join(words)


def _row(check: CheckReport) -> str:
    mark = "passed" if check["passed"] else "missed"
    points = f"{check['points']:g} of {check['of']:g}"
    # A check that looks for a text has no number.
    value, band = check["value_text"], check["band"]
    value, band = ("", "") if band == ANY_BAND else (value, band)
    row = (
        f"<tr><td>{escape(check['what'])}</td><td class=number>{points}</td>"
        f"<td class=number>{escape(value)}</td><td>{escape(band)}</td>"
        f'<td class="{mark}">{mark}</td></tr>'
    )
    texts = [check["reason"] if check["measured"] else "", check["hint"]]
    if any(texts):
        hint = "<br>".join(escape(text) for text in texts if text)
        row += f'<tr><td colspan=5><div class="hint">{hint}</div></td></tr>'
    return row
