"""`wanlab lab`: units by their names, lessons, statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wanlab.cli.lesson import for_terminal
from wanlab.labs import catalog

LESSON = "Why?\n\n<details><summary>Answer</summary>\n\nBecause.\n\n</details>\n\nNext.\n"


def test_answers_stay_hidden_until_they_are_asked_for() -> None:
    hidden = for_terminal(LESSON, "6", with_answers=False)
    assert "Because" not in hidden
    assert "wanlab lab show 6 --answers" in hidden
    assert "**Answer.** Because." in for_terminal(LESSON, "6", with_answers=True)


def test_units_are_listed_for_programs(wanlab: Any) -> None:
    rows = json.loads(wanlab("lab", "list", "--json").output)
    units = {row["name"]: row for row in rows}
    for name in catalog.names():
        assert units[name]["steps"] == len(catalog.find(name).steps)


def test_a_lesson_is_shown_as_it_is_written_to_a_pipe(wanlab: Any) -> None:
    name = next(n for n in catalog.names() if (catalog.folder_of(n) / "lesson.md").is_file())
    text = (catalog.folder_of(name) / "lesson.md").read_bytes()
    assert wanlab("lab", "show", name).output == text


@pytest.mark.parametrize("verb", ["show", "run", "check", "start"])
def test_a_unit_that_is_not_there_is_told(wanlab: Any, verb: str) -> None:
    ran = wanlab("lab", verb, "77")
    assert ran.status == 1
    assert "there is no unit 77 here" in ran.errors


def test_a_check_needs_something_to_look_at(wanlab: Any) -> None:
    ran = wanlab("lab", "check", "ex1")
    assert ran.status == 1
    assert "--script FILE" in ran.errors


def test_a_script_that_is_not_there_is_told(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab("lab", "check", "ex1", "--script", str(tmp_path / "none.sh"))
    assert ran.status == 1
    assert "cannot read" in ran.errors


@pytest.mark.machine
def test_units_run_side_by_side(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab("lab", "run", "1", "ex1", "-j", "2", "--json", "--results", str(tmp_path))
    rows = json.loads(ran.output)
    assert [(row["name"], row["status"]) for row in rows] == [("1", 0), ("ex1", 0)]
    assert (ran.status, rows[1]["points"]) == (0, rows[1]["of"])
    assert (tmp_path / "exercise1-seed1" / "report.html").is_file()


@pytest.mark.machine
def test_work_that_does_nothing_fails_with_hints(wanlab: Any, tmp_path: Path) -> None:
    script = tmp_path / "work.sh"
    script.write_text("")
    ran = wanlab("lab", "check", "ex1", "--script", str(script), "--json")
    report = json.loads(ran.output)
    assert (ran.status, report["passed"]) == (1, False)
    assert any(check["hint"] for check in report["checks"])
