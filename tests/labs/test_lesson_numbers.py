"""What a lesson shows as "one run here" is what the page of the course shows for its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab.labs import catalog

COURSE = Path(__file__).parents[2] / "docs" / "evidence" / "course.md"
NUMBER = re.compile(r"(?<![\w.])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?!\w)")
TIME = re.compile(r"tests and the check (?:of this lab )?take (\d+) s of network time")
OURS = 4
"""The column of wanlab's numbers in a unit's table of wanlab docs course."""


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")]


def _measured(title: str) -> list[float]:
    """Return wanlab's numbers in the section of a unit."""
    section = re.split(r"^##", COURSE.read_text().split(f"### {title}\n")[1], flags=re.MULTILINE)[0]
    rows = [_cells(row) for row in section.splitlines() if row.startswith("| ")]
    return [
        float(number.replace(",", ""))
        for row in rows
        if row[1].isdigit()
        for number in NUMBER.findall(row[OURS])
    ]


def _shown(lesson: str) -> Iterator[str]:
    """Yield the numbers in columns and rows "one run here"."""
    column = None
    for line in lesson.splitlines():
        if not line.startswith("|"):
            column = None
        elif column is None:
            heads = [cell.startswith("one run here") for cell in _cells(line)]
            column = heads.index(True) if True in heads else -1
        elif "one run here" in _cells(line)[1]:
            yield from NUMBER.findall(line)
        elif column >= 0:
            yield from NUMBER.findall(_cells(line)[column])


@pytest.mark.parametrize("name", list(catalog.names()))
def test_one_run_here_is_the_run_on_the_page_of_the_course(name: str) -> None:
    unit = catalog.find(name)
    title = f"{unit.kind.capitalize()} {unit.number}: {unit.title}"
    measured = _measured(title)
    for text in _shown((unit.folder / "lesson.md").read_text(encoding="utf-8")):
        number = float(text.replace(",", ""))
        digits = len(text.partition(".")[2])
        assert any(
            abs(value * scale - number) <= 0.501 * 10**-digits
            for value in measured
            for scale in (1, 1000, 0.001)
        ), f"{text} is not in the section of {title}"


def test_the_time_that_a_lesson_names_is_that_on_the_page_of_the_course() -> None:
    page = COURSE.read_text(encoding="utf-8")
    named = {}
    for name in catalog.names():
        unit = catalog.find(name)
        text = " ".join((unit.folder / "lesson.md").read_text(encoding="utf-8").split())
        if times := TIME.findall(text):
            row = re.search(rf"^\| {re.escape(unit.heading)} \|.* (\d+) \|$", page, re.MULTILINE)
            assert row
            named[name] = ([*map(int, times)], [int(row[1])])
    assert len(named) > 12
    assert [name for name, (ours, measured) in named.items() if ours != measured] == []
