"""The lessons speak of this page, not of MiniEdit's windows and the desktop of another system."""

from __future__ import annotations

import re

import pytest

from wanlab.labs import catalog
from wanlab.web.lessons.lesson_page import page_of

FOREIGN = re.compile(
    r"MiniEdit|Ctrl-Alt-T|right (mouse )?button|bottom left|turns? gr[ea]y|double.click the icon",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", [*catalog.names()])
def test_a_lesson_names_nothing_that_the_page_lacks(name: str) -> None:
    lesson = (catalog.find(name).folder / "lesson.md").read_text(encoding="utf-8")
    assert FOREIGN.findall(lesson) == []


def test_why_a_number_differs_is_said_of_numbers_that_can() -> None:
    shown = [figure.what for step in page_of(catalog.find("9")).steps for figure in step.figures]
    assert "packets sent" not in shown
    assert any("throughput" in what for what in shown)


@pytest.mark.parametrize("name", [*catalog.names()])
def test_why_a_number_differs_is_said_in_words_of_the_page(name: str) -> None:
    """It named commands of a shell, and said "The manual has connectivity confirmed %"."""
    for figure in (one for step in page_of(catalog.find(name)).steps for one in step.figures):
        assert "wanlab docs" not in figure.why + figure.cause
        assert re.search(r"\d", figure.manual) or not figure.manual.endswith("%")
