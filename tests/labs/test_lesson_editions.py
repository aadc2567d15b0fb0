"""A lesson's text holds two editions: for terminals, and for the page of `wanlab web`."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from wanlab.labs import catalog, lesson
from wanlab.labs.lesson import PAGE, TERMINAL, edition

NAMES = list(catalog.names())
OF_THE_TERMINAL = re.compile(
    r"Ctrl-B|tmux|wanlab (?:lab|mn|web)\b|In the browser|(?:your|own) computer, (?:as|in) `lab"
    r"|^[ >]*\$ |\(window \d|'s window \(|--seed|root@"
    # The page does not show a step that is left out.
    r"|leave\s+out\s+the\s+(?:first|last)\s+command",
    re.MULTILINE,
)
COMMANDS = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPTED = re.compile(r"^(?:(mininet)>|(\w+)\$) (.+)$", re.MULTILINE)
OF_THE_PAGE = re.compile(r"press \*\*|\bcanvas\b.*[Tt]ool|Edit > Preferences|click \*\*", re.DOTALL)


def source(name: str) -> str:
    return (catalog.folder_of(name) / "lesson.md").read_text(encoding="utf-8")


def test_what_stands_between_marks_is_in_one_edition() -> None:
    text = "Look <!-- terminal -->there<!-- page -->here<!-- end -->.\n"
    assert edition(text, TERMINAL) == "Look there.\n"
    assert edition(text, PAGE) == "Look here.\n"


def test_marks_on_lines_of_their_own_leave_no_empty_lines() -> None:
    text = (
        "One.\n\n<!-- terminal -->\nTwo.\n\n<!-- end -->\n\n"
        "Three.\n\n<!-- page -->\nFour.\n<!-- end -->\n"
    )
    assert edition(text, TERMINAL) == "One.\n\nTwo.\n\nThree.\n\n"
    assert edition(text, PAGE) == "One.\n\nThree.\n\nFour.\n"


def test_a_row_of_a_table_can_be_in_one_edition() -> None:
    text = "| a |\n|---|\n<!-- terminal -->\n| b |\n<!-- end -->\n| c |\n"
    assert edition(text, PAGE) == "| a |\n|---|\n| c |\n"


def test_the_page_folds_hints_and_lacks_answers_where_they_are_switched_off() -> None:
    text = (
        "<details><summary>First hint</summary>\n\nLook.\n\n</details>\n\n"
        "<details><summary>Answer</summary>\n\n42\n\n</details>\n"
    )
    shown = lesson.without_answers(text)
    assert "<summary>First hint</summary>" in shown
    assert "42" not in shown


@pytest.mark.parametrize("name", NAMES)
def test_each_mark_is_ended(name: str) -> None:
    marks = [match[1] for match in re.finditer(r"<!-- (\w+) -->", source(name))]
    assert re.fullmatch(r"(?:(?:terminal (?:page )?|page (?:terminal )?)end ?)*", " ".join(marks))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_nothing_of_the_edition_for_terminals(name: str) -> None:
    assert OF_THE_TERMINAL.findall(edition(source(name), PAGE)) == []


@pytest.mark.parametrize("name", NAMES)
def test_terminals_show_nothing_of_the_edition_for_the_page(name: str) -> None:
    assert OF_THE_PAGE.findall(edition(source(name), TERMINAL)) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_command_on_the_page_belongs_to_a_step(name: str) -> None:
    """The player shows what is to be typed as steps, so that it can be marked as done."""
    unit = catalog.find(name)
    # A student solves tasks; no step of the unit does.
    text = lesson.without_answers(lesson.read(unit, PAGE)).partition("\n## Tasks\n")[0]
    typed = Counter(
        (prompt or place, line)
        for block in COMMANDS.findall(text)
        for prompt, place, line in PROMPTED.findall(block)
    )
    known = Counter(
        (place, line) for step in unit.steps for place in step.where for line in step.lines
    )
    assert typed - known == Counter()
