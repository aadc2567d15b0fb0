"""`wanlab lab list`, `run` and `check`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from wanlab import Network, __version__
from wanlab.errors import WanlabError
from wanlab.labs import catalog, report, summary, table, unit_file
from wanlab.labs.unit import Unit
from wanlab.machine.embedded import find_image

from .progress import Progress
from .topologies import one_of

RED, GREEN, YELLOW, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
COLOURS = {"ok": GREEN, report.EXPLAINED: YELLOW, "OPEN": RED}
CLOCKS = ("virtual", "real")
INSIDE = Path("/run/wanlab/network.json")
ALL = "all"


def show_list(*, as_json: bool = False, units: Path | None = None) -> None:
    """List the units in the manual's order; one that cannot be read is shown with its error."""
    rows = [_row(name, units) for name in catalog.names(units)]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(f"{row['name']:>6}  {row['title']}")


def _row(name: str, units: Path | None) -> dict[str, object]:
    try:
        unit = catalog.find(name, units)
    except WanlabError as error:
        return {"name": name, "title": f"cannot be read: {error}".splitlines()[0]}
    return {
        "name": name,
        "kind": unit.kind,
        "title": unit.title,
        "goal": unit.goal,
        "hours": unit.hours,
        "steps": len(unit.steps),
        "checks": len(unit.check),
        "variants": len(unit.variants),
    }


def run(name: str, *, seed: int | None, clock: str, results: Path, as_json: bool) -> int:
    """Run a unit and print its report; return 0 if no step failed and no number is unexplained."""
    one_of("clock", clock, CLOCKS)
    unit = catalog.find(name)
    seed = unit.seed if seed is None else seed
    from wanlab.labs import unit_run  # it loads matplotlib, which takes a second

    progress = Progress()
    try:
        progress.say(f"{unit.heading} (seed {seed}, {clock} clock, {unit.wire} wire)")
        unit_report = unit_run.run_unit(
            unit, seed=seed, clock=clock, results=results, say=progress.say
        )
    finally:
        progress.end()
    if as_json:
        print(json.dumps(unit_report, indent=2, sort_keys=True))
    else:
        print(_coloured(table.text(unit_report)), end="")
        print(
            f"after {unit_report['real_s']:.0f} s ({unit_report['virtual_s']:.0f} s of network time); "
            f"records, figures and transcript are in {unit_report['folder']}"
        )
    return 0 if report.is_good(unit_report) else 1


# -- all of them ----------------------------------------------------------------------------------


def run_several(
    names: list[str],
    *,
    seed: int | None,
    clock: str,
    results: Path,
    as_json: bool,
    jobs: int,
    markdown: Path | None = None,
    distributions: Path | None = None,
    resumes: bool = False,
) -> int:
    """Run each unit in a separate process, `jobs` at a time, and print a summary.

    `markdown` is the file to write all numbers to, such as docs/course.md; `distributions` is a folder
    with files that `run_seeds` has written. With `resumes`, finished runs are not repeated. Return 1
    if a unit failed.
    """
    from wanlab.labs import course_page, distribution

    from .series import ParallelUnits, write_summary

    one_of("clock", clock, CLOCKS)
    for name in names:
        if name != ALL:
            catalog.find(name)
    names = [*catalog.names()] if ALL in names else names
    known = distribution.read_all(distributions) if distributions is not None else {}
    units = ParallelUnits(
        names,
        jobs=jobs,
        seeds=None if seed is None else [seed],
        clock=clock,
        results=results,
        resumes=resumes,
    )
    ended = units.run()
    wall_s = units.progress.real_s()
    rows = [summary.row_of(unit.name, unit.status, unit.report, unit.error) for unit in ended]
    page = write_summary(rows, results, seed=seed, clock=clock, wall_s=wall_s)
    if markdown is not None:
        conditions = _conditions(seed, clock, summary.totals(rows)["wall_s"] or 0.0)
        reports = {unit.name: unit.report for unit in ended if unit.report is not None}
        reasons = {row["name"]: catalog.find(row["name"]).seed_why for row in rows}
        _write(markdown, course_page.page(rows, reports, conditions, known, reasons))
    if as_json:
        print(json.dumps(rows, indent=2, sort_keys=True))
    else:
        print(summary.text(rows), end="")
        print(f"after {wall_s:.0f} s; summary and reports: {page}")
    return 1 if any(row["status"] for row in rows) else 0


def run_seeds(
    names: list[str], *, seeds: Sequence[int], clock: str, results: Path, as_json: bool, jobs: int
) -> int:
    """Run one unit with many seeds and print the distribution of each number.

    Finished runs are not repeated. Return 1 if a seed left no report; a number outside the manual's
    band is not a failure here.
    """
    from wanlab.labs import distribution

    from .series import ParallelUnits

    one_of("clock", clock, CLOCKS)
    if len(names) != 1 or names == [ALL]:
        raise WanlabError(
            "--seeds works with a single unit only", "run the units one after another"
        )
    unit = catalog.find(names[0])
    ended = ParallelUnits(
        names, jobs=jobs, seeds=seeds, clock=clock, results=results, resumes=True
    ).run()
    failed = [each for each in ended if each.report is None]
    result = distribution.UnitDistribution(
        unit=unit.name,
        seeds=tuple(seeds),
        failed={str(each.seed): each.error for each in failed},
        wanlab=__version__,
        kernel=find_image().release,
        numbers=distribution.distributions([each.report for each in ended if each.report]),
    )
    path = results / f"{unit.run_name(seeds[0])}-to-{seeds[-1]}.json"
    _write(path, result.to_json())
    if as_json:
        print(result.to_json(), end="")
    else:
        print(distribution.text(result, unit.heading), end="")
        for each in failed:
            print(f"seed {each.seed} failed: {each.error}")
        print(f"all values are in {path}")
    return 1 if failed else 0


def _conditions(seed: int | None, clock: str, wall_s: float) -> str:
    """Return the conditions of a run, for the course's page."""
    seeds = "each unit's own seed (1 unless its section says otherwise)"
    image = find_image()
    return (
        f"{seeds if seed is None else f'seed {seed}'}, {clock} clock, wanlab {__version__}, Linux "
        f"{image.release} (manifest {image.manifest_hash[:12]}). All runs together took "
        f"{wall_s / 60:.0f} minutes of wall time, which depends on the computer and its other load."
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WanlabError(f"cannot write {path}: {error.strerror or error}") from None


# -- checks ---------------------------------------------------------------------------------------


def check(
    name: str,
    *,
    script: Path | None,
    session: Path | None = None,
    seed: int | None,
    clock: str,
    as_json: bool,
    keep: Path | None,
    units: Path | None = None,
) -> int:
    """Grade a script or a session, or, inside `wanlab lab start`, the network that is running there."""
    one_of("clock", clock, CLOCKS)
    unit = catalog.find(name, units)
    if not unit.check:
        raise WanlabError(f"{unit.heading} has no checks, so it cannot be graded")
    seed = unit.seed if seed is None else seed
    progress = Progress()
    try:
        if session is not None:
            grade = _check_session(unit, session, script, seed, keep, progress)
        else:
            grade = _check(unit, script, seed, clock, keep, progress)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(grade, indent=2, sort_keys=True))
    else:
        for text in grade.get("notes", []):
            print(f"note: {text}")
        if changed := grade.get("changed_programs"):
            print(
                f"programs that were changed, so the checks did not use them: {', '.join(changed)}"
            )
        print("\n".join(table.check_lines(grade)))
    return 0 if grade["passed"] else 1


def _check_session(
    unit: Unit,
    session: Path,
    script: Path | None,
    seed: int,
    keep: Path | None,
    progress: Progress,
) -> report.GradeReport:
    if script is not None:
        raise WanlabError("--script and --session cannot be combined", "leave one out")
    from wanlab.labs import session_work, unit_run

    return unit_run.grade_work(
        *(unit, None),
        session=session_work.read_session(session),
        seed=seed,
        clock="virtual",
        say=progress.say,
        keep=keep,
    )


def _check(
    unit: Unit, script: Path | None, seed: int, clock: str, keep: Path | None, progress: Progress
) -> report.GradeReport:
    if script is not None:
        from wanlab.labs import unit_run

        return unit_run.grade_work(
            unit, script, seed=seed, clock=clock, say=progress.say, keep=keep
        )
    if not INSIDE.exists():
        raise WanlabError(
            "there is no network to grade here",
            f"run it in a terminal of `wanlab lab start {unit.name}`, or name a file: --script FILE",
        )
    from wanlab.labs import grade

    seed = int(os.environ.get("WANLAB_SEED", seed))
    unit = unit_file.for_seed(unit, seed)
    with Network.attach() as network:
        marks = grade.grade(unit, network, progress.say)
    return grade.report(unit, marks, seed)


def _coloured(text: str) -> str:
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return "".join(_coloured_line(line) for line in text.splitlines(keepends=True))


def _coloured_line(line: str) -> str:
    body = line.rstrip("\n")
    for word, colour in COLOURS.items():
        if body.endswith(f"  {word}"):
            return f"{body.removesuffix(word)}{colour}{word}{PLAIN}\n"
    return line
