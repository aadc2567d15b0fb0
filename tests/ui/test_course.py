"""Do a unit of the course from *Start* to a passed check; `./dev bench course_ui` does all units."""

from __future__ import annotations

import re

import pytest
from course_work import CourseWork
from served import Server
from student import Student

from wanlab.labs import catalog
from wanlab.labs.unit_file import read_work

pytestmark = pytest.mark.machine

LONGEST_S = 240.0
TICK_S = 120.0


def passes(student: Student, name: str, following: str) -> None:
    """Do a unit as its player says; all steps are done, the check passes, the next unit is offered."""
    unit = catalog.find(name)
    solution = unit.folder / "solution.yaml"
    work = CourseWork(student, unit, longest_s=LONGEST_S, tick_s=TICK_S, gives_up=True)
    walk = work.do_all(read_work(solution).steps if solution.exists() else ())
    assert walk.missed == []
    assert walk.lost == []
    assert (walk.done, walk.points) == (walk.steps, walk.of)
    assert walk.following.startswith(f"Next: {following}:")


def test_lab_1_is_done_as_the_player_says(student: Student) -> None:
    passes(student, "1", "Exercise 1")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "following"), [("ex1", "Lab 2"), ("3", "Lab 4"), ("5", "Exercise 2")]
)
def test_a_unit_is_done_as_its_player_says(student: Student, name: str, following: str) -> None:
    passes(student, name, following)


SENDERS = """\
nodes:
  - {host: h1, x: 100, y: 80}
  - {host: h2, x: 700, y: 80}
  - {host: h3, x: 100, y: 300}
  - {host: h4, x: 700, y: 300}
  - {switch: s1, x: 300, y: 180}
  - {switch: s2, x: 500, y: 180}
links:
  - {link: [h1, s1]}
  - {link: [h3, s1]}
  - {link: [s1, s2], rate: 5Mbps, delay: 10ms}
  - {link: [s2, h2]}
  - {link: [s2, h4]}
"""


@pytest.mark.long
def test_the_graph_of_concurrent_senders_opens_beside_mininets_prompt(
    student: Student, server: Server
) -> None:
    (server.folder / "senders.yaml").write_text(SENDERS)
    student.opens("senders.yaml")
    student.runs()
    student.chooses_pace("as fast as possible")
    prompt = student.opens_terminal("mininet")
    student.types(prompt, "source concurrent_diff_algo")
    page = student.page
    page.get_by_role("tab", name="concurrent.pdf").wait_for()
    page.locator("iframe[title$='concurrent.pdf']").wait_for()
    assert (server.folder / "concurrent.pdf").read_bytes().startswith(b"%PDF")
    student.picture("graph of two senders")
    student.brings_to_front("mininet")
    student.reads(prompt, re.compile(r"bbr\s*\.\d+"))
