"""Test the figures of lessons: each is shown with a text for those who do not see it, in both themes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wanlab.labs import catalog
from wanlab.labs.student_files import figures_of, files_of

SVG = "{http://www.w3.org/2000/svg}"
NAMES = list(catalog.names())
FIGURES = [figure for name in NAMES for figure in figures_of(catalog.find(name))]
PALETTE = {"none", "white", "#333", "#666", "#888", "#1f5fa8", "#c2571a"}
"""The colours of the light theme. Each figure's style replaces them in the dark one."""
CHARACTER = 0.55
"""The mean width of a character of a text, in font sizes, in a wide sans-serif font (DejaVu Sans)."""


def names(figure: Path) -> str:
    return f"{figure.parent.name}/{figure.name}"


@pytest.fixture(params=FIGURES, ids=names)
def figure(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_a_lesson_shows_each_figure_once_with_a_text(figure: Path) -> None:
    text = (figure.parent / "lesson.md").read_text(encoding="utf-8")
    shown = re.findall(rf"^!\[([^\]]+)\]\({figure.name}\)$", text, re.MULTILINE)
    assert len(shown) == 1
    assert len(shown[0].split()) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_shows_only_figures_that_exist(name: str) -> None:
    unit = catalog.find(name)
    text = (unit.folder / "lesson.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert sorted(shown) == [figure.name for figure in figures_of(unit)]


def test_a_figure_has_a_title_and_a_size(figure: Path) -> None:
    root = ElementTree.parse(figure).getroot()
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text
    assert root.get("role") == "img"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


def test_a_figure_is_readable_in_both_themes(figure: Path) -> None:
    """It covers its own background, and its style gives each of its colours another one in the dark."""
    root = ElementTree.parse(figure).getroot()
    background = root.find(f"{SVG}rect")
    assert background is not None
    assert (background.get("fill"), background.get("width")) == ("white", root.get("width"))
    style = root.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme: dark" in style
    used = {
        (kind, colour)
        for element in root.iter()
        for kind in ("fill", "stroke")
        if (colour := element.get(kind)) is not None
    }
    assert {colour for _, colour in used} <= PALETTE
    for kind, colour in used - {("fill", "none"), ("stroke", "none")}:
        assert f'[{kind}="{colour}"] {{ {kind}: ' in style, (kind, colour)


def test_no_text_leaves_its_figure(figure: Path) -> None:
    root = ElementTree.parse(figure).getroot()
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    size = float(root.get("font-size", 0))
    for element in root.iter(f"{SVG}text"):
        if element.get("transform"):
            continue
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        length = len(element.text or "") * size * CHARACTER
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor", "start")]
        assert x - before * length >= 0, element.text
        assert x + (1 - before) * length <= width, element.text
        assert size / 2 < y <= height, element.text


def test_figures_are_not_copied_to_a_students_folder() -> None:
    copied = {source for name in NAMES for _, source in files_of(catalog.find(name))}
    assert not copied & set(FIGURES)
