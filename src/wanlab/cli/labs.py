"""`wanlab lab list`, `run` and `check`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from wanlab import Network, __version__, labs
from wanlab.errors import WanlabError
from wanlab.labs import catalog, summary
from wanlab.labs import table as findings
from wanlab.labs.unit import Unit

from .progress import Progress
from .topologies import one_of

RED, GREEN, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"
COLOURS = {findings.REPRODUCED: GREEN, findings.DIFFERS: RED}
CLOCKS = ("virtual", "real")
INSIDE = Path("/run/wanlab/network.json")
ALL = "all"


def show_list(*, as_json: bool = False) -> None:
    """Units in the manual's order; one that cannot be read is named with what is wrong."""
    rows = []
    for name in catalog.ORDER:
        if unit := _unit_or_program(name):
            rows.append(unit)
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(f"{row['name']:>6}  {row['title']}")


def _unit_or_program(name: str) -> dict[str, Any] | None:
    if (catalog.folder_of(name) / "lab.yaml").is_file():
        try:
            unit = catalog.find(name)
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
    if name.isdigit() and int(name) in labs.NUMBERS:
        return {"name": name, "kind": "lab", "title": labs.find(int(name)).title}
    return None


def run(
    name: str, *, seed: int, clock: str, results: Path, as_json: bool, only_steps: bool = False
) -> int:
    """Runs a unit and shows the report; the exit status says whether all was as it should be."""
    one_of("clock", clock, CLOCKS)
    if name.isdigit() and int(name) in labs.NUMBERS and not only_steps:
        return _run_program(int(name), seed=seed, clock=clock, results=results, as_json=as_json)
    unit = catalog.find(name)
    from wanlab.labs import unit_run  # loads what draws figures: a second

    progress = Progress()
    try:
        progress.say(f"{unit.heading} (seed {seed}, {clock} clock, {unit.wire} wire)")
        report = unit_run.run_unit(unit, seed=seed, clock=clock, results=results, say=progress.say)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        _print_report(report)
    return 0 if unit_run.is_good(report) else 1


def _print_report(report: dict[str, Any]) -> None:
    print(f"{report['heading']}\n")
    for part in ("steps", "solution"):
        for step in report[part]:
            _print_step(step, "solution, step" if part == "solution" else "step")
    if report["check"]:
        _print_check(report["check"])
    counts = ", ".join(f"{n} {status}" for status, n in report["counts"].items())
    print(f"{report['performed']} of {report['steps_count']} steps performed; numbers: {counts}")
    print(
        f"after {report['real_s']:.0f} s ({report['virtual_s']:.0f} s of the network's time); "
        f"report and files are in {report['folder']}"
    )


def _print_step(step: dict[str, Any], name: str) -> None:
    """Only what tells something."""
    if not (step["figures"] or step["problems"] or step["skipped"]):
        return
    first = (step["command"] or "-").splitlines()[0]
    print(f"{name} {step['n']}: {first}")
    if step["skipped"]:
        print(f"    skipped: {step['skipped']}")
    for problem in step["problems"]:
        print(f"    problem: {problem}")
    for figure in step["figures"]:
        line = f"    {figure['status']:10}  {figure['what']}: {figure['ours_text']}"
        line += f"  (manual {figure['manual']}; band {figure['band']})"
        print(line)
        if figure["status"] != "reproduced" and figure["why"]:
            print(f"                {figure['why']}")


def _run_program(number: int, *, seed: int, clock: str, results: Path, as_json: bool) -> int:
    """A lab whose steps are a program."""
    lab = labs.find(number)
    from wanlab.labs.results import run_lab  # loads what draws figures: a second

    progress = Progress()
    try:
        progress.say(f"Lab {number}: {lab.title} (seed {seed}, {clock} clock, {lab.wire} wire)")
        folder, report = run_lab(lab, seed=seed, clock=clock, results=results, say=progress.say)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        print(_coloured(findings.text(report)), end="")
        took_s = progress.real_s()
        print(f"after {took_s:.0f} s; records, figures and transcript are in {folder}")
    return 0 if report["reproduced"] == len(report["findings"]) else 1


# -- all of them ----------------------------------------------------------------------------------


def run_several(
    names: list[str],
    *,
    seed: int,
    clock: str,
    results: Path,
    as_json: bool,
    jobs: int,
    table: Path | None = None,
) -> int:
    """Each in a process of its own, so many side by side; `table` is for docs/course.md."""
    from .series import Series, keep

    one_of("clock", clock, CLOCKS)
    for name in names:
        if name != ALL:
            catalog.find(name)
    names = [*catalog.names()] if ALL in names else names
    series = Series(names, jobs=jobs, seed=seed, clock=clock, results=results)
    ended = series.run()
    wall_s = series.progress.real_s()
    rows = [summary.row_of(one.name, one.status, one.report, one.error) for one in ended]
    kept = keep(rows, results, seed=seed, clock=clock, wall_s=wall_s)
    if table is not None:
        said = _conditions(seed, clock, jobs, len(rows), wall_s)
        reports = {one.name: one.report for one in ended if one.report is not None}
        _write(table, summary.markdown(rows, reports, said))
    if as_json:
        print(json.dumps(rows, indent=2, sort_keys=True))
    else:
        print(summary.text(rows), end="")
        print(f"after {wall_s:.0f} s; summary and reports: {kept}")
    return 1 if any(row["status"] for row in rows) else 0


def _conditions(seed: int, clock: str, jobs: int, count: int, wall_s: float) -> str:
    """Of a run, as the page on the course tells it."""
    side = f"{jobs} at once" if jobs > 1 else "one after the other"
    cores = len(os.sched_getaffinity(0))
    return (
        f"Seed {seed}, {clock} clock, wanlab {__version__}; {count} units, {side}, took "
        f"{wall_s / 60:.1f} minutes on {cores} cores."
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WanlabError(f"cannot write {path}: {error.strerror or error}") from None


# -- checks ---------------------------------------------------------------------------------------


def check(
    name: str, *, script: Path | None, seed: int, clock: str, as_json: bool, keep: Path | None
) -> int:
    """Grades a script; or, inside `wanlab lab start`, the network that runs there."""
    one_of("clock", clock, CLOCKS)
    unit = catalog.find(name)
    if not unit.check:
        raise WanlabError(f"{unit.heading} has no checks")
    progress = Progress()
    try:
        report = _check(unit, script, seed, clock, keep, progress)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        _print_check(report)
    return 0 if report["passed"] else 1


def _check(
    unit: Unit, script: Path | None, seed: int, clock: str, keep: Path | None, progress: Progress
) -> dict[str, Any]:
    if script is not None:
        from wanlab.labs import unit_run

        return unit_run.grade_work(
            unit, script, seed=seed, clock=clock, say=progress.say, keep=keep
        )
    if not INSIDE.exists():
        raise WanlabError(
            "there is nothing to grade here",
            f"type it in a terminal of `wanlab lab start {unit.name}`, or name a file: --script FILE",
        )
    from wanlab.labs import grade

    with Network.attach() as network:
        marks = grade.grade(unit, network, progress.say)
    return grade.report(unit, marks, int(os.environ.get("WANLAB_SEED", seed)))


def _print_check(report: dict[str, Any]) -> None:
    for one in report["checks"]:
        sign = "passed" if one["passed"] else "MISSED"
        found = "" if one["value"] is None else f": {one['value_text']} (band {one['band']})"
        print(f"{sign}  {one['points']:g} of {one['of']:g}  {one['what']}{found}")
        if not one["passed"]:
            print(f"        hint: {one['hint']}")
            if one["reason"]:
                print(f"        ({one['reason']})")
    for problem in report.get("problems", ()):
        print(f"note: {problem}")
    print(f"{report['points']:g} of {report['of']:g} points")


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
