"""Test the stored results of checks, and what the page shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wanlab.labs import catalog
from wanlab.labs.grade import Mark
from wanlab.web.folder import WorkingFolder
from wanlab.web.lessons.lessons import Lessons


def info_of(lessons: Lessons, name: str) -> Any:
    lessons._units = [catalog.find(name)]
    (info,) = lessons.snapshot().lessons
    return info


def test_the_best_check_counts_and_the_last_one_is_shown_with_units(tmp_path: Path) -> None:
    lessons = Lessons(WorkingFolder(tmp_path), lambda push: None)
    unit = catalog.find("5")
    (rate,) = (check for check in unit.check if check.flows and check.band is not None)
    lessons.note_check(unit, [Mark(check, True, None, "") for check in unit.check])
    best = info_of(lessons, "5").points
    assert best == sum(check.points for check in unit.check)
    lessons.note_check(unit, [Mark(rate, False, 10_000.0, "", unit="kbit/s")])
    # Also after a restart of the server.
    for known in (lessons, Lessons(WorkingFolder(tmp_path), lambda push: None)):
        info = info_of(known, "5")
        assert info.points == best
        (shown,) = info.results
        assert shown.measured == "10,000 kbit/s"
        assert "kbit/s" in shown.expected
        assert shown.hint
