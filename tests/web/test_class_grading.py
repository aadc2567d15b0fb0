"""Test grading at the teacher's request: its progress, its end, and that it can be cancelled."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.jobs.progress import BatchProgress, Listener
from wanlab.web.classroom.grading import ClassGrading, grade_class
from wanlab.web.classroom.roster import HAND_INS, Roster


def run_in_loop(work: object) -> None:
    """Run a coroutine in a thread of its own: a browser test may use this thread's loop."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)  # type: ignore[arg-type]
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def roster(folder: Path) -> Roster:
    (folder / "students.csv").write_text("student,seed\nAda,7\n")
    (folder / HAND_INS / "Ada").mkdir(parents=True)
    return Roster(folder, "token", ())


def test_the_progress_and_the_result_are_shown(tmp_path: Path) -> None:
    has_told, may_end = threading.Event(), threading.Event()

    def grade(_: Roster, listener: Listener) -> str:
        listener(BatchProgress(total=3, finished=1, running=("Ada, ex3",)))
        has_told.set()
        may_end.wait()
        return "1 of 3 handed in, 0 not graded"

    async def watch() -> None:
        grading = ClassGrading(roster(tmp_path), grade)
        grading.start()
        await asyncio.to_thread(has_told.wait)
        assert grading.progress.endswith(": Ada, ex3")
        with pytest.raises(WanlabError, match="being graded"):
            grading.start()
        may_end.set()
        await grading.close()
        assert (grading.progress, grading.result) == ("", "1 of 3 handed in, 0 not graded")

    run_in_loop(watch())


def test_a_cancelled_grading_ends_at_its_next_news(tmp_path: Path) -> None:
    has_begun, is_cancelled = threading.Event(), threading.Event()

    def grade(_: Roster, listener: Listener) -> str:
        has_begun.set()
        is_cancelled.wait()
        listener(BatchProgress(total=1))
        return "never"

    async def cancel() -> None:
        grading = ClassGrading(roster(tmp_path), grade)
        grading.start()
        await asyncio.to_thread(has_begun.wait)
        grading.cancel()
        is_cancelled.set()
        await grading.close()
        assert grading.result == "cancelled; finished grades are kept"

    run_in_loop(cancel())


def test_a_problem_of_the_grading_is_its_result(tmp_path: Path) -> None:
    async def fail() -> None:
        grading = ClassGrading(Roster(tmp_path, "token", ()))  # there is no students.csv
        grading.start()
        while grading.progress:
            await asyncio.sleep(0)
        assert "there is no file" in grading.result

    run_in_loop(fail())


@pytest.mark.machine
@pytest.mark.long
def test_a_class_is_graded_as_on_the_command_line(tmp_path: Path) -> None:
    """A hand-in that cannot be graded has its reason in the table."""
    (tmp_path / "class").mkdir()
    a_class = roster(tmp_path / "class")
    (a_class.folder / HAND_INS / "Ada" / "ex3-seed7.zip").write_bytes(b"no archive")
    assert grade_class(a_class, lambda state: None) == "1 of 1 handed in, 1 not graded"
    assert "Ada" in (a_class.folder / "grades" / "grades.csv").read_text()
