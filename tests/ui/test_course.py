"""Do a unit of the course from *Start* to a passed check; `./dev bench course_ui` does all units."""

from __future__ import annotations

import pytest
from course_work import CourseWork
from served import Server
from student import Student

from wanlab.labs import catalog
from wanlab.labs.unit_file import read_work

pytestmark = pytest.mark.machine


def test_exercise_1_is_drawn_run_and_passes_its_check(student: Student, server: Server) -> None:
    unit = catalog.find("ex1")
    work = CourseWork(student, unit, progress=server.folder / ".wanlab" / "progress.json")
    walk = work.do_all(read_work(unit.folder / "solution.yaml").steps)
    assert walk.missed == []
    assert walk.lost == []
    assert (walk.done, walk.points) == ([1], walk.of)
