"""`wanlab lab hand-in`, `grade` and `new`."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from shlex import quote

from wanlab.errors import WanlabError
from wanlab.jobs.progress import BatchProgress
from wanlab.labs import catalog, class_run, hand_in, new_unit, similar, submissions
from wanlab.labs.class_run import ClassOptions, ClassRun
from wanlab.labs.students import read_students
from wanlab.session import read
from wanlab.shared_folder import output_folder

from .progress import Progress


def pack(
    name: str,
    *,
    seed: int | None,
    folder: Path | None,
    script: Path | None,
    session: Path | None,
    output: Path | None,
    units: Path | None,
) -> None:
    """Pack a student's work on a unit into one file."""
    unit = catalog.find(name, units)
    seed = unit.seed if seed is None else seed
    home = output_folder(folder or Path(unit.folder.name))
    if not home.has_folder():
        raise WanlabError(
            f"there is no folder {home.path}",
            "give the folder that `wanlab lab start` used: --folder FOLDER",
        )
    if session is not None:
        read(session)  # raises WanlabError, so that nobody hands in an unreadable session
    if script is None:
        script, is_draft = hand_in.script_of(unit, home)
        if is_draft:
            print(
                f"{script} was written from the commands that you typed.\n"
                f"Read it, and try it: wanlab lab check {name} --seed {seed} --script {script}"
                + (f" --units {quote(str(units))}" if units is not None else "")
            )
    target = output or Path(f"{unit.name}-seed{seed}.zip")
    digest = hand_in.pack(unit, seed, home, script, target, session)
    print(f"{target}: hand in this file (SHA-256 {digest[: hand_in.SHOWN_DIGITS]})")


def grade(
    folder: Path,
    *,
    seeds: Path,
    chosen: list[str],
    units: Path | None,
    jobs: int,
    minutes: float,
    due: str | None,
    only: list[str],
    results: Path,
    by_session: bool = False,
) -> int:
    """Grade a class; return 0 if everything that was handed in could be graded."""
    students = read_students(seeds)
    options = ClassOptions(
        folder=folder,
        students=students,
        results=results,
        units=chosen,
        course=units,
        jobs=min(jobs, 4 * len(os.sched_getaffinity(0))),
        real_minutes=minutes,
        due_s=_due_s(due),
        only=only,
        by_session=by_session,
    )
    run = ClassRun(options)
    for name in submissions.strangers(folder, students):
        print(f"wanlab: {folder}/{name}: no such student in {seeds}", file=sys.stderr)
    if loose := submissions.exported_files(folder):
        print(
            f"wanlab: {len(loose)} files in {folder} are not read, such as {loose[0]}: Moodle exported "
            'them without folders (choose "Download submissions in folders" there)',
            file=sys.stderr,
        )
    progress = Progress()

    def show(state: BatchProgress) -> None:
        if state.event:
            progress.say(
                f"{state.done} of {state.total}: {state.event}" if state.done else state.event
            )

    try:
        graded = run.run(show)
    finally:
        progress.end()
    pairs = class_run.alike(run.scripts, run.sessions)
    class_run.write(options, graded, pairs)
    for line in similar.summary(pairs):
        print(line)
    failed = [result for result in graded if class_run.was_refused(result)]
    for result in failed:
        print(f"{result['student']}, {result['unit']}: {result['error']}")
    handed_in = sum(bool(result["handed_in"]) for result in graded)
    print(
        f"{handed_in} of {len(graded)} handed in, {len(failed)} not graded; "
        f"after {progress.real_s():.0f} s; tables and feedback: {results}"
    )
    return 1 if failed else 0


def new(name: str, folder: Path) -> None:
    """Write template files for a new unit, and print what to do next."""
    path = new_unit.write(name, folder)
    start = f"wanlab lab start {name} --units {quote(str(folder))}"
    print(f"{path}: edit lab.yaml and lesson.md, then: {start}")


def _due_s(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise WanlabError(f"{text!r} is not a time", 'as in "2026-11-20 23:59"') from None
