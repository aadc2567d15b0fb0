"""The lessons speak of this page, not of MiniEdit's windows and the desktop of another system."""

from __future__ import annotations

import re

import pytest

from wanlab.labs import catalog

FOREIGN = re.compile(
    r"MiniEdit|Ctrl-Alt-T|right (mouse )?button|bottom left|turns? gr[ea]y|double.click the icon",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", [*catalog.names()])
def test_a_lesson_names_nothing_that_the_page_lacks(name: str) -> None:
    lesson = (catalog.find(name).folder / "lesson.md").read_text(encoding="utf-8")
    assert FOREIGN.findall(lesson) == []
