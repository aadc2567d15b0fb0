"""Runs a unit, or grades work on it; what is kept of a run is a folder.

results/lab06-seed1/
  report.json      steps, outputs, the manual's numbers beside ours, checks
  report.html      the same to read, with figures
  transcript.txt   every command, and what it printed
  home/            /home/admin as it was left: JSON, figures and data of the lab's own programs
  step-31/         a record of what was sampled in that step
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from wanlab import Record, __version__, iperf3, plot, record
from wanlab.errors import RequirementError, WanlabError
from wanlab.record import Provenance

from . import grade, page, student_files
from .outcome import EXPLAINED, OPEN, REPRODUCED, Outcome, count
from .runner import Runner
from .unit import CLIENT, Step, Unit
from .unit_file import read_work

Report = dict[str, Any]
Say = Callable[[str], None]
SET_ENV = "set_env.sh"
SUBMISSION = ".submission.sh"
MOST_FIGURES = 12
QUICK_S = 2


def solution_of(unit: Unit, seed: int) -> Path | None:
    """The file of steps that solves what this seed has chosen."""
    variant = unit.variant(seed)
    names = [f"solution-{variant}.yaml"] if variant else []
    for name in [*names, "solution.yaml"]:
        if (unit.folder / name).is_file():
            return unit.folder / name
    return None


def environment_step(unit: Unit) -> tuple[Step, ...]:
    """What brings about the state that a student begins with, if no step of the unit does it."""
    is_there = (unit.folder / SET_ENV).is_file()
    typed = any(SET_ENV in line for step in unit.steps for line in step.lines)
    if not is_there or typed:
        return ()
    line = f"(cd ~/{student_files.folder_of(unit)} && sudo ./{SET_ENV})"
    return (Step(0, "", (CLIENT,), (line,)),)


def beginning(unit: Unit) -> tuple[Step, ...]:
    """The steps of an exercise before its network is stopped: what is solved is between. Of a lab, all
    before the end that is stopping: that is the state worth looking at."""
    last = len(unit.steps)
    while last and {"stop", "close"} & set(unit.steps[last - 1].do):
        last -= 1
    if unit.kind == "lab":
        return unit.steps[:last]
    stops = (i for i, step in enumerate(unit.steps) if {"stop", "close"} & set(step.do))
    return unit.steps[: next(stops, last)]


def run_unit(unit: Unit, *, seed: int, clock: str, results: Path, say: Say) -> Report:
    """Performs all steps, then the solution if there is one, and grades what is there then."""
    final = results / unit.run_name(seed)
    folder = results / f"{final.name}.partial"
    began = time.monotonic()
    try:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "home").mkdir(parents=True)
    except OSError as error:
        raise RequirementError(
            f"cannot write results to {folder}: {error.strerror or error}",
            "name another place with --results",
        ) from None
    student_files.install(folder / "home", [unit])
    with Runner(unit, folder / "home", seed=seed, clock=clock, say=say) as runner:
        try:
            steps, solved, check = _perform(unit, runner, seed, say)
        except BaseException as error:
            kept = [result.report() for result in runner.results]
            _write_json(folder, {"unit": unit.name, "interrupted": True, "steps": kept})
            error.add_note(f"what was done until then is in {folder}")
            raise
        virtual_s = runner.network.now_ns / 1e9
        warnings = list(runner.network.warnings)
        samples = runner.samples
    report = _moved(_report(unit, steps, solved, check, seed=seed, clock=clock), folder, final)
    report |= {
        "virtual_s": round(virtual_s, 6),
        "real_s": round(time.monotonic() - began, 3),
        "warnings": warnings,
        "folder": str(final),
    }
    say("writing the report")
    figures = dict(_figures(unit, folder, samples, report))
    _write(folder, report, figures)
    shutil.rmtree(final, ignore_errors=True)
    folder.rename(final)
    return report


def _perform(
    unit: Unit, runner: Runner, seed: int, say: Say
) -> tuple[list[Outcome], list[Outcome], Report | None]:
    """What came of the steps, of the solution, and of the checks."""
    first = beginning(unit)
    steps = runner.perform(first)
    solved: list[Outcome] = []
    check: Report | None = None
    solution = solution_of(unit, seed)
    if solution is not None:
        solved = runner.perform([*environment_step(unit), *read_work(solution).steps])
    if unit.check and (solution is not None or unit.kind == "lab"):
        runner.run_topology()
        check = grade.report(unit, grade.grade(unit, runner.network, say), seed)
    steps += runner.perform(unit.steps[len(first) :])
    return steps, solved, check


def grade_work(
    unit: Unit,
    script: Path | None,
    *,
    seed: int,
    clock: str,
    say: Say,
    keep: Path | None = None,
    quick: bool = False,
) -> Report:
    """Grades a script: commands of the client's terminal, or steps (.yaml), in a network of its own;
    without one, what a unit begins with. `quick`: measurements of the work's own, which are not graded,
    last seconds and not minutes."""
    with tempfile.TemporaryDirectory(prefix="wanlab-check-") as made:
        folder = (keep or Path(made)).resolve()
        student_files.install(folder, [unit])
        steps = _steps_of(script, folder) if script else ()
        if quick:
            steps = [replace(step, lines=tuple(map(_shortened, step.lines))) for step in steps]
        with Runner(unit, folder, seed=seed, clock=clock, say=say) as runner:
            begun: list[Outcome] = []
            if unit.kind == "lab":
                runner.run_topology()
            else:
                begun = runner.perform([*beginning(unit), *environment_step(unit)])
            done = runner.perform(steps)
            runner.run_topology()
            marks = grade.grade(unit, runner.network, say)
    report = grade.report(unit, marks, seed)
    report["problems"] = [
        f"{result.step.text.splitlines()[0]}: {problem}"
        for result in [*begun, *done]
        for problem in result.problems
        if result.step.text
    ]
    report["outputs"] = [result.report() for result in done]
    return report


def _steps_of(script: Path, folder: Path) -> Sequence[Step]:
    if script.suffix in (".yaml", ".yml"):
        return read_work(script).steps
    try:
        text = script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WanlabError(f"cannot read {script}: {error}") from None
    (folder / SUBMISSION).write_text(text, encoding="utf-8")
    return [Step(1, "", (CLIENT,), (f"source ~/{SUBMISSION}",))]


def _shortened(line: str) -> str:
    return re.sub(r"(iperf3 .*-t )\d+", rf"\g<1>{QUICK_S}", line)


# -- the report -----------------------------------------------------------------------------------


def _report(
    unit: Unit,
    steps: Sequence[Outcome],
    solved: Sequence[Outcome],
    check: Report | None,
    *,
    seed: int,
    clock: str,
) -> Report:
    figures = [figure for result in [*steps, *solved] for figure in result.figures]
    return {
        "wanlab": __version__,
        "unit": unit.name,
        "kind": unit.kind,
        "number": unit.number,
        "title": unit.title,
        "heading": unit.heading,
        "goal": unit.goal,
        "seed": seed,
        "variant": unit.variant(seed),
        "clock": clock,
        "wire": unit.wire,
        "line_rate": unit.line_rate,
        "steps_count": len(steps),
        "performed": sum(result.is_performed for result in steps),
        "skipped": sum(bool(result.step.skip) for result in steps),
        "counts": {status: count(figures, status) for status in (REPRODUCED, EXPLAINED, OPEN)},
        "steps": [result.report() for result in steps],
        "solution": [result.report() for result in solved],
        "check": check,
        "decisions": [vars(decision) for decision in unit.decisions],
    }


def _moved(report: Report, folder: Path, final: Path) -> Report:
    """Programs have named files by where they were during the run (`xdg-open`)."""
    there, here = (json.dumps(str(path))[1:-1] for path in (folder, final))
    moved: Report = json.loads(json.dumps(report).replace(there, here))
    return moved


def is_good(report: Report) -> bool:
    """Nothing failed, nothing is open, and the solution passes. A measurement on the real clock may miss
    its band: this computer has a part in it."""
    parts = [*report["steps"], *report["solution"]]
    has_failed = any(step["problems"] for step in parts)
    checks = report["check"]["checks"] if report["check"] else []
    is_real = report["clock"] == "real"
    is_graded = all(one["passed"] or (is_real and one["measured"]) for one in checks)
    return not has_failed and is_graded and report["counts"][OPEN] == 0


def transcript(report: Report) -> str:
    return "\n".join(
        f"{step['command']}\n{step['output']}"
        for step in [*report["steps"], *report["solution"]]
        if step["command"]
    )


def _write(folder: Path, report: Report, figures: Mapping[str, str]) -> None:
    (folder / "transcript.txt").write_text(transcript(report), encoding="utf-8")
    (folder / "report.html").write_text(page.page(report, figures), encoding="utf-8")
    _write_json(folder, report)


def _write_json(folder: Path, report: Report) -> None:
    text = json.dumps(report, indent=2, sort_keys=True) + "\n"
    (folder / "report.json").write_text(text, encoding="utf-8")


def _figures(
    unit: Unit, folder: Path, samples: Mapping[str, Mapping[str, Any]], report: Report
) -> Iterator[tuple[str, str]]:
    """A picture of each record: what was sampled of queues, and what iperf3 wrote as JSON."""
    provenance = Provenance(
        wanlab=__version__,
        seed=report["seed"],
        clock=report["clock"],
        wire=report["wire"],
        warnings=tuple(report["warnings"]),
    )
    made = 0
    for name, tables in samples.items():
        for port, table in tables.items():
            sampled = Record(provenance, {"qdisc": table})
            record.write(sampled, folder / name, replace=True)
            if made < MOST_FIGURES:
                rows = table.where(device=port)
                kinds = dict(zip(rows["handle"], rows["kind"], strict=True))
                panels = [
                    replace(plot.queue(sampled, device=port, handle=one), title=f"{kind} {one}")
                    for one, kind in kinds.items()
                ]
                path = folder / "figures" / f"{name}.png"
                yield f"Queue of {port}, {name}", _picture(panels, path, unit.heading)
                made += 1
    for file in sorted((folder / "home").rglob("*.json")):
        if made >= MOST_FIGURES:
            break
        with suppress(WanlabError, OSError):
            measured = Record(provenance, {"iperf3": iperf3.parse(file.read_bytes()).table()})
            title = str(file.relative_to(folder / "home"))
            path = folder / "figures" / f"{title.replace('/', '-')}.png"
            yield title, _picture([plot.throughput(measured)], path, title)
            made += 1


def _picture(panels: Sequence[Any], path: Path, title: str) -> str:
    """Saved as a file; returned as a data URL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plot.save(plot.timeline(panels, title=title), path)
    data = base64.b64encode(path.read_bytes()).decode()
    return f"data:image/png;base64,{data}"
