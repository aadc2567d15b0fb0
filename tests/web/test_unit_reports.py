"""Reports of units are made by a job, one at a time; here, it is one of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sample_reports
from patience import PATIENCE_S

from wanlab.errors import WanlabError
from wanlab.jobs.worker import Load
from wanlab.labs import catalog
from wanlab.labs.unit import Unit
from wanlab.web.folder import WorkingFolder
from wanlab.web.lessons import unit_reports
from wanlab.web.lessons.lessons import Lessons
from wanlab.web.limits import ClassRules
from wanlab.web.protocol.lessons import LessonsPush
from wanlab.web.protocol.messages import MessagePush

Scenario = Callable[[Lessons, Unit, list[Any]], Awaitable[None]]


def perform(
    scenario: Scenario, load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    """Run a scenario with `load` in place of what runs units; return what browsers were sent."""
    unit, pushed = catalog.find("3"), list[Any]()
    monkeypatch.setattr(unit_reports, "load_units", load)

    async def run() -> None:
        await scenario(Lessons(WorkingFolder(folder), pushed.append), unit, pushed)

    in_own_loop(run())
    return pushed


def in_own_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in another thread, because Playwright leaves a running loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, asyncio.wait_for(coroutine, PATIENCE_S)).result()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def messages(pushed: list[Any]) -> list[MessagePush]:
    return [it for it in pushed if isinstance(it, MessagePush)]


def test_a_report_is_made_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(lessons: Lessons, unit: Unit, pushed: list[Any]) -> None:
        await lessons.report(unit.name)
        assert lessons.snapshot().working == unit.name
        await until(lambda: lessons.reports.unit is None)

    pushed = perform(scenario, sample_reports.makes, tmp_path, monkeypatch)
    unit = catalog.find("3")
    assert "step 1 of 2" in [it.working_step for it in pushed if isinstance(it, LessonsPush)]
    assert [(it.level, it.what) for it in messages(pushed)] == [
        ("info", f"the report of {unit.heading} is ready")
    ]
    known = Lessons(WorkingFolder(tmp_path), lambda push: None).progress.of(unit).report
    assert known == f"results/{unit.run_name(unit.seed)}/report.html"


def test_only_one_report_is_made_at_a_time_and_it_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(lessons: Lessons, unit: Unit, pushed: list[Any]) -> None:
        await lessons.report(unit.name)
        with pytest.raises(WanlabError, match=f"the report of {unit.heading} is being made"):
            await lessons.report("4")
        await until(lambda: lessons.reports.step != "")
        lessons.reports.cancel()
        await until(lambda: lessons.reports.unit is None)
        lessons.reports.cancel()

    pushed = perform(scenario, sample_reports.waits, tmp_path, monkeypatch)
    assert messages(pushed) == []
    assert pushed[-1].working is None


def test_a_report_that_fails_shows_the_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(lessons: Lessons, unit: Unit, pushed: list[Any]) -> None:
        await lessons.report(unit.name)
        await until(lambda: bool(messages(pushed)))

    (message,) = messages(perform(scenario, sample_reports.fails, tmp_path, monkeypatch))
    assert message.level == "error"
    assert message.what == f"the report of {catalog.find('3').heading} could not be made"
    assert message.hint.splitlines()[-1] == "the machine could not be started"


def test_a_report_that_cannot_even_begin_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(lessons: Lessons, unit: Unit, pushed: list[Any]) -> None:
        await lessons.report(unit.name)
        await until(lambda: bool(messages(pushed)))
        assert lessons.reports.unit is None

    pushed = perform(scenario, sample_reports.cannot_be_loaded, tmp_path, monkeypatch)
    assert messages(pushed)[0].hint == "no part of it can be loaded"


def test_students_of_a_class_make_no_reports(tmp_path: Path) -> None:
    async def keep(unit: str, work: bytes) -> None: ...

    lessons = Lessons(WorkingFolder(tmp_path), lambda push: None, ClassRules(hand_in=keep))
    with pytest.raises(WanlabError, match="only the teacher"):
        in_own_loop(lessons.report("3"))
