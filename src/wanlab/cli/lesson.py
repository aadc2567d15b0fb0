"""`wanlab lab show`: shows a lesson, one of its hints, its steps, or the instructor's edition."""

from __future__ import annotations

import sys
from pathlib import Path

from wanlab.labs import catalog, instructor, lesson, unit_file
from wanlab.labs.unit import Unit
from wanlab.text_table import aligned


def show(
    name: str,
    *,
    as_text: bool,
    hint: int | None,
    with_answers: bool,
    for_instructors: bool,
    only_steps: bool,
    seed: int | None,
    units: Path | None,
) -> None:
    """Print Markdown, formatted if standard output is a terminal."""
    unit = catalog.find(name, units)
    seed = unit.seed if seed is None else seed
    unit = unit_file.for_seed(unit, seed)
    if only_steps:
        print(_steps(unit))
        return
    if with_answers or for_instructors:
        lesson.refuse_answers()
    if for_instructors:
        text = instructor.edition(unit, seed)
    elif hint is not None:
        text = lesson.hint(unit, hint)
    elif with_answers:
        text = lesson.with_answers(lesson.read(unit))
    else:
        text = lesson.student_edition(unit)
    if as_text or not sys.stdout.isatty():
        print(text, end="")
        return
    from .lesson_page import show as show_page

    show_page(text, unit.folder, is_paged=hint is None)


def _steps(unit: Unit) -> str:
    """Return a line for each step: its number, its section, and what to type or do."""
    rows = [(str(step.n), step.at, step.text.replace("\n", "; ")) for step in unit.steps]
    return "\n".join(aligned([("step", "section", "what to do"), *rows], "><<"))
