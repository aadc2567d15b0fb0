"""All units of the course can be done in the browser: every step is marked as done, every check passes.

A script goes through each unit in Chromium as a student would who follows only what the lesson's
player shows: *Start*, then the step that comes next, and *Next* once a card is done. It types every
other command by hand and the rest with *Type*. It types the solutions of exercises and problems,
whose measurements last 2 s here. Then it presses *Check*.

    unit      the unit
    steps     steps that the page marked as done, of those that can be
    cards     cards that the player has shown
    check     points, of all points
    wall_s    real time
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _chromium import find_chromium
from _report import Report, Table

from wanlab.labs import catalog, check_selftest, unit_run
from wanlab.labs.unit import Step, Unit
from wanlab.labs.unit_file import read_work
from wanlab.web.server.app import STATIC

sys.path.extend(str(Path(__file__).parents[1] / "tests" / name) for name in ("browser", "machine"))

from course_work import CourseWork, Walk
from served import Server
from student import SPEEDS, Student

SIZE = {"width": 1280, "height": 900}
SEED = 1
PATIENCE_S = 300.0


def main() -> int:
    options = arguments()
    report = Report("course_ui")
    program = find_chromium()
    if program is None:
        report.note("there is no Chromium: apt-get install chromium")
        return report.finish(is_met=None)
    from playwright.sync_api import sync_playwright

    table = report.table("units", ("unit", "steps", "cards", "check", "wall_s"))
    met: list[bool] = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in options.unit or catalog.names():
            unit = catalog.find(name)
            began = time.monotonic()
            walk = go_through(browser, unit, options, report)
            add_row(report, table, unit, walk, time.monotonic() - began)
            met.append(is_complete(walk))
        browser.close()
    return report.finish(is_met=all(met))


def solution_of(unit: Unit) -> Sequence[Step]:
    """Return the steps of an exercise's solution, with short measurements; of a lab, none."""
    for case in check_selftest.cases(unit):
        if case.kind == check_selftest.SOLUTION and case.seed == SEED and case.file is not None:
            steps = read_work(case.file, unit.values).steps
            return [replace(s, lines=tuple(map(unit_run.shortened, s.lines))) for s in steps]
    return ()


def go_through(
    browser: Any, unit: Unit, options: argparse.Namespace, report: Report, *server_arguments: str
) -> Walk:
    """Do a unit in a new window, with a server and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as place:
        server = Server(Path(place), options.pages, *server_arguments)
        server.start()
        context = browser.new_context(viewport=SIZE)
        try:
            student = Student(context.new_page(), options.pictures, f"unit {unit.name}")
            student.page.set_default_timeout(1000 * PATIENCE_S)
            student.page.goto(server.url)
            student.is_connected()
            say = report.note if options.verbose else lambda line: None
            work = CourseWork(student, unit, speed=options.speed, say=say)
            walk = work.do_all(solution_of(unit))
            walk.missed += [f"the page complained: {error}" for error in student.console_errors]
            return walk
        finally:
            context.close()
            server.end()


def is_complete(walk: Walk) -> bool:
    return walk.done == walk.steps and not walk.missed and walk.points == walk.of


def add_row(report: Report, table: Table, unit: Unit, walk: Walk, seconds: float) -> None:
    table.add(
        unit=unit.name,
        steps=f"{walk.done}/{walk.steps}",
        cards=walk.cards,
        check=f"{walk.points:g}/{walk.of:g}",
        wall_s=round(seconds),
        missed=walk.missed,
        lost=walk.lost,
    )
    for what in (*walk.missed, *walk.lost):
        report.note(f"          {what}")


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; `words` are used instead of this program's own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("unit", nargs="*", help="such as 5, ex3 or prob1; by default all")
    parser.add_argument("--speed", choices=SPEEDS[-6:], default="×20")  # noqa: RUF001
    parser.add_argument(
        "--pictures", type=Path, help="folder for screenshots, one for each section"
    )
    parser.add_argument("--pages", type=Path, default=STATIC, help="folder of the built pages")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each step")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
