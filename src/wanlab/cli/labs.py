"""`wanlab lab list`, `run` and `check`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from wanlab import Network, labs
from wanlab.errors import WanlabError
from wanlab.labs import catalog, table
from wanlab.labs.unit import Unit

from .progress import Progress
from .topologies import one_of

RED, GREEN, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"
COLOURS = {table.REPRODUCED: GREEN, table.DIFFERS: RED}
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
    from wanlab.labs import performance  # loads what draws figures: a second

    progress = Progress()
    try:
        progress.say(f"{unit.heading} (seed {seed}, {clock} clock, {unit.wire} wire)")
        report = performance.run(unit, seed=seed, clock=clock, results=results, say=progress.say)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        _print_report(report)
    return 0 if performance.is_good(report) else 1


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
        print(_coloured(table.text(report)), end="")
        took_s = progress.real_s()
        print(f"after {took_s:.0f} s; records, figures and transcript are in {folder}")
    return 0 if report["reproduced"] == len(report["findings"]) else 1


# -- all of them ----------------------------------------------------------------------------------


def run_several(
    names: list[str], *, seed: int, clock: str, results: Path, as_json: bool, jobs: int
) -> int:
    """Each in a process of its own, so many side by side."""
    one_of("clock", clock, CLOCKS)
    for name in names:
        if name != ALL:
            catalog.find(name)
    if ALL in names:
        names = [name for name in catalog.ORDER if _unit_or_program(name)]
    progress = Progress()

    def run_one(name: str) -> tuple[str, int, dict[str, Any], str]:
        progress.say(f"{name} begins")
        command = [sys.executable, "-m", "wanlab.cli", "lab", "run", name, "--json", "--steps"]
        options = ["--seed", str(seed), "--clock", clock, "--results", str(results)]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        try:
            report: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            report = {}
        said = done.stderr.strip().splitlines()
        progress.say(f"{name} has ended with status {done.returncode}")
        return name, done.returncode, report, said[-1] if said else ""

    try:
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            ended = list(pool.map(run_one, names))
    finally:
        progress.end()
    rows = [_row(name, status, report, said) for name, status, report, said in ended]
    if as_json:
        print(json.dumps(rows, indent=2, sort_keys=True))
    else:
        _print_rows(rows)
        print(f"after {progress.real_s():.0f} s")
    return 1 if any(row["status"] for row in rows) else 0


def _row(name: str, status: int, report: dict[str, Any], said: str) -> dict[str, Any]:
    """Of the table. A lab that is a program counts its numbers in its own way."""
    findings = report.get("findings", [])
    reproduced = report.get("reproduced", 0)
    counts = report.get("counts") or {
        "reproduced": reproduced,
        "explained": 0,
        "open": len(findings) - reproduced,
    }
    check = report.get("check")
    return {
        "name": name,
        "status": status,
        "performed": report.get("performed"),
        "steps": report.get("steps_count"),
        **counts,
        "points": None if check is None else check["points"],
        "of": None if check is None else check["of"],
        "real_s": report.get("real_s"),
        "virtual_s": report.get("virtual_s"),
        "error": "" if report else said,
    }


def _print_rows(rows: list[dict[str, Any]]) -> None:
    heads = ("unit", "steps", "reproduced", "explained", "open", "points", "wall s", "virtual s")
    print("  ".join(f"{head:>10}" for head in heads))
    for row in rows:
        cells = (
            row["name"],
            _of(row["performed"], row["steps"]),
            *(str(row[status]) for status in ("reproduced", "explained", "open")),
            _of(row["points"], row["of"]),
            *("-" if row[n] is None else f"{row[n]:.0f}" for n in ("real_s", "virtual_s")),
        )
        line = "  ".join(f"{cell:>10}" for cell in cells)
        print(f"{line}  {row['error']}".rstrip())


def _of(part: float | None, whole: float | None) -> str:
    return "-" if part is None or whole is None else f"{part:g}/{whole:g}"


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
        from wanlab.labs import performance

        return performance.work(unit, script, seed=seed, clock=clock, say=progress.say, keep=keep)
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
