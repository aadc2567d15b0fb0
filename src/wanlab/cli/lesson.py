"""`wanlab lab show`: shows a lesson, a hint, a figure, the steps, or the instructor's edition."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from wanlab.errors import WanlabError, did_you_mean
from wanlab.input_file import read_input
from wanlab.labs import catalog, checking, instructor, lesson, student_files, unit_file
from wanlab.labs.unit import Unit
from wanlab.shared_folder import SharedFolder
from wanlab.text_table import aligned


def show(
    name: str,
    *,
    as_text: bool,
    hint: int | None,
    with_answers: bool,
    for_instructors: bool,
    only_steps: bool,
    figure: str | None,
    seed: int | None,
    units: Path | None,
) -> None:
    """Print Markdown, formatted if standard output is a terminal, or open a figure."""
    unit = catalog.find(name, units)
    if figure is not None:
        _open_figure(unit, figure)
        return
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

    command = f"wanlab lab show {unit.name}"
    if units is not None:
        command += f" --units {shlex.quote(str(units))}"
    show_page(text, command, is_paged=hint is None)


def _open_figure(unit: Unit, name: str) -> None:
    """Open a figure of the lesson. A machine has no desktop: it opens a copy in the shared folder."""
    figures = {path.stem: path for path in student_files.figures_of(unit)}
    if name not in figures:
        raise WanlabError(f"{unit.heading} has no figure {name}", did_you_mean(name, figures))
    path = figures[name]
    if checking.INSIDE.exists():
        from wanlab.labs.scripts import xdg_open

        copies = SharedFolder(Path.home(), "figures")
        copies.write(path.name, read_input(path))
        xdg_open.show(copies.path / path.name)
        return
    from .display import open_file

    print(path)
    open_file(path)


def _steps(unit: Unit) -> str:
    """Return a line for each step: its number, its section, and what to type or do."""
    rows = [(str(step.n), step.at, step.text.replace("\n", "; ")) for step in unit.steps]
    return "\n".join(aligned([("step", "section", "what to do"), *rows], "><<"))
