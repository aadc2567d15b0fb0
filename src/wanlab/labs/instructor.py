"""The instructor's edition of a unit: the lesson with answers, times, solutions, typical mistakes.

All of it is generated from the unit's files, so it always agrees with the grading.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wanlab.text_table import markdown, markdown_row

from . import lesson
from .durations import check_seconds, network_seconds
from .outcome import band_text
from .unit import Unit
from .unit_file import read_work


def edition(unit: Unit, seed: int) -> str:
    """Return the edition as Markdown, with the values that a seed draws."""
    parts = [
        f"# {unit.heading}: instructor's edition",
        unit.goal,
        *_about(unit, seed),
        *_variants(unit, seed),
        *_times(unit, seed),
        *_solutions(unit, seed),
        *_checks(unit),
        *_mistakes(unit),
        *_decisions(unit),
    ]
    if (unit.folder / "lesson.md").is_file():
        text = lesson.with_answers(lesson.read(unit))
        # Move the lesson's headings one level down, below those of this page.
        shifted = "\n".join(f"#{line}" if _is_heading(line) else line for line in text.splitlines())
        parts += ["## The lesson, with answers", shifted]
    return "\n\n".join(parts) + "\n"


def solution_of(unit: Unit, seed: int) -> Path | None:
    """Return the file of steps that solves the variant of this seed, if there is one."""
    variant = unit.variant(seed)
    names = [f"solution-{variant}.yaml"] if variant else []
    for name in [*names, "solution.yaml"]:
        if (unit.folder / name).is_file():
            return unit.folder / name
    return None


def _is_heading(line: str) -> bool:
    return line.startswith("#") and line.lstrip("#").startswith(" ")


def _about(unit: Unit, seed: int) -> Iterator[str]:
    points = sum(check.points for check in unit.check)
    lines = [
        f"* A student needs about {unit.hours:g} h.",
        f"* {len(unit.steps)} steps, {len(unit.check)} checks, {points:g} points.",
    ]
    if unit.variants or unit.draws:
        lines.append(f"* This page is for seed {seed}; another seed may have another network.")
    if unit.values:
        drawn = ", ".join(
            f"{name} {value}"
            for name, value in unit.values.items()
            if isinstance(value, int | float)
        )
        lines.append(f"* The seed draws: {drawn}.")
    yield "\n".join(lines)


def _variants(unit: Unit, seed: int) -> Iterator[str]:
    if not unit.variants:
        return
    yield "## What can be wrong"
    rows = []
    for number, variant in enumerate(unit.variants, 1):
        cells = [
            str(variant.get("what") or variant.get("fault") or ""),
            str(variant.get("symptom") or variant.get("shows") or ""),
            str(variant.get("cure") or ""),
        ]
        mark = f"**{number}** (this seed)" if number == unit.variant(seed) else str(number)
        rows.append([mark, *map(_cell, cells)])
    yield "\n".join(markdown(("variant", "fault", "how it shows", "cure"), rows))


def _times(unit: Unit, seed: int) -> Iterator[str]:
    yield "## Times"
    steps_s = network_seconds(unit, unit.steps)
    file = solution_of(unit, seed)
    solution_s = network_seconds(unit, read_work(file, unit.values).steps) if file else 0.0
    checks_s = check_seconds(unit)
    rows = [
        ("all steps", _time(steps_s)),
        *([("the solution", _time(solution_s))] if file else []),
        ("one check", _time(checks_s)),
    ]
    yield "\n".join(markdown(("part", "network time"), rows))
    yield (
        "On two idle cores, a network of up to 100 Mbit/s runs several times faster than this, one "
        "of 10 Gbit/s up to ten times slower. `wanlab docs course` has the measured times."
    )


def _solutions(unit: Unit, seed: int) -> Iterator[str]:
    file = solution_of(unit, seed)
    if file is None:
        return
    work = read_work(file, unit.values)
    yield "## A solution"
    if work.what:
        yield work.what if work.what.endswith(".") else f"{work.what}."
    yield "```console\n" + "\n".join(step.text for step in work.steps if step.text) + "\n```"


def _checks(unit: Unit) -> Iterator[str]:
    if not unit.check:
        return
    yield "## What is checked"
    rows = []
    for check in unit.check:
        how = "; ".join(flow.command for flow in check.flows) or check.state
        right = ", ".join(check.says) or band_text(check.band)
        guard = " (guard)" if check.is_guard else ""
        rows.append((f"{check.points:g}{guard}", _cell(check.what), right, f"`{_cell(how)}`"))
    yield "\n".join(markdown(("points", "check", "right", "measured by"), rows))
    if any(check.is_guard for check in unit.check):
        yield (
            "The untouched network passes a guard, so a guard earns points only if every measured "
            "check passes."
        )


def _mistakes(unit: Unit) -> Iterator[str]:
    rows = []
    for file in sorted((unit.folder / "wrong").glob("*.yaml")):
        work = read_work(file, unit.values)
        hints = [c.hint for c in unit.check if any(text in c.hint for text in work.hints)]
        what = work.what or file.stem.replace("-", " ").replace("_", " ")
        rows.append((_cell(what), _cell(hints[0]) if hints else "; ".join(work.hints)))
    known = " ".join(map(markdown_row, rows))
    more = [check for check in unit.check if _cell(check.hint) not in known]
    rows += [(f"missed: {_cell(check.what)}", _cell(check.hint)) for check in more]
    if rows:
        yield "## Typical mistakes"
        yield "\n".join(markdown(("mistake", "hint that the student gets"), rows))


def _decisions(unit: Unit) -> Iterator[str]:
    if unit.decisions:
        yield "## Where the manual is silent"
        yield "\n".join(f"* **{d.what}**: {d.decided} ({d.because})" for d in unit.decisions)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"
