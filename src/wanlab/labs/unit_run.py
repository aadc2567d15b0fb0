"""Runs a unit, or grades a student's work on it. A run leaves a folder:

results/lab06-seed1/
  report.json      steps, outputs, the manual's figures beside ours, checks
  report.html      the same for people, with pictures
  report.txt       the table of figures
  transcript.txt   every command and its output
  figures/         the pictures
  home/            /home/admin at the end of the run
  step-31/         a record of the samples of that step; units may give it a name
  computer.json    how long the run took here, and its programs computed; no other file depends on
                   the computer
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from wanlab import __version__, record
from wanlab.errors import WanlabError, reason_of
from wanlab.input_file import read_input
from wanlab.jobs.job import Say
from wanlab.jobs.store import results_folder
from wanlab.machine.embedded import find_image
from wanlab.network import NO_CHOICE, MachineChoice, computing_real_s, computing_warnings
from wanlab.record import Provenance
from wanlab.session import RecordedSession
from wanlab.shared_folder import SharedFolder, output_folder
from wanlab.temporary import TemporaryFolder

from . import grade, hand_in, page, pictures, run_inputs, student_files, table
from .agreement import STATUSES
from .instructor import solution_of
from .outcome import Outcome, count
from .report import GradeReport, StepReport, UnitReport, all_steps, transcript
from .runner import StepRunner
from .session_work import SessionWork
from .step_samples import StepRecord
from .unit import CLIENT, Step, Unit
from .unit_file import for_seed, read_work

SET_ENV = "set_env.sh"
SUBMISSION = ".submission.sh"
SCRIPT_ERROR = re.compile(rf"^bash: \S*{re.escape(SUBMISSION)}: (line \d+: .*[^:\s])", re.MULTILINE)
"""bash's message about a line of a submission."""
QUICK_S = 2
MAX_OUTPUT_CHARACTERS = 10_000
"""The limit of each step's output in the report of a submission."""


def environment_step(unit: Unit) -> tuple[Step, ...]:
    """Return the step that runs set_env.sh; none if a step of the unit runs it or it does not exist."""
    exists = (unit.folder / SET_ENV).is_file()
    is_typed = any(SET_ENV in line for step in unit.steps for line in step.lines)
    if not exists or is_typed:
        return ()
    line = f"(cd ~/{student_files.folder_of(unit)} && sudo ./{SET_ENV})"
    return (Step(0, "", (CLIENT,), (line,)),)


def beginning(unit: Unit) -> tuple[Step, ...]:
    """Return the steps that come before the checks.

    For an exercise or a problem, these are the steps before its network is stopped, because the
    solution follows them. For a lab, these are all steps up to the first that follows the check,
    except those at their end that stop the network, because checks look at the network that the lab
    has built.
    """
    following = (i for i, step in enumerate(unit.steps) if step.follows_check)
    last = next(following, len(unit.steps))
    while last and {"stop", "close"} & set(unit.steps[last - 1].do):
        last -= 1
    if unit.kind == "lab":
        return unit.steps[:last]
    stops = (i for i, step in enumerate(unit.steps) if {"stop", "close"} & set(step.do))
    return unit.steps[: next(stops, last)]


# -- a run ----------------------------------------------------------------------------------------


def run_unit(
    unit: Unit,
    *,
    seed: int,
    clock: str,
    results: Path,
    say: Say,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> UnitReport:
    """Perform all steps, then the solution if there is one, and grade the result.

    Commands that start together start up to `start_jitter_ns` later, each by a time of its own.

    The run's folder replaces an earlier one of the same seed. A run that is interrupted leaves what
    it has measured in a folder whose name ends in .partial; the exception's note names it.
    """
    find_image(choice.kernel)  # without a kernel, fail before a folder is made
    unit = for_seed(unit, seed)
    final = results / unit.run_name(seed)
    began = time.monotonic()
    with results_folder(final) as folder:
        home = folder / "home"
        student_files.install(SharedFolder(home).make(), [unit])
        with StepRunner(
            unit,
            home,
            guest_folder=student_files.guest_folder(),
            seed=seed,
            clock=clock,
            say=say,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        ) as runner:
            try:
                steps, solved, check = _perform(unit, runner, seed, say)
            except BaseException:
                _write_interrupted(unit, runner, folder)
                raise
            virtual_s = runner.network.now_ns / 1e9
            cpu = runner.network.cpu
            warnings = list(runner.network.warnings)
            computed_real_s = computing_real_s(runner.network)
            computing = computing_warnings(computed_real_s, runner.network.now_ns)
        report = _report(
            unit,
            steps,
            solved,
            check,
            seed=seed,
            clock=clock,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
        report["records"] = {
            step_record.name: {
                "title": step_record.title,
                "digest": step_record.record.digest(),
            }
            for step_record in runner.records
        }
        if cpu is not None:
            report["cpu"] = cpu.model
        report["virtual_s"] = round(virtual_s, 6)
        report["warnings"] = warnings
        say("writing the report")
        _write(unit, runner.records, report, folder)
        run_inputs.write_computer(folder, time.monotonic() - began, computed_real_s, computing)
    return report


def _perform(
    unit: Unit, runner: StepRunner, seed: int, say: Say
) -> tuple[list[Outcome], list[Outcome], GradeReport | None]:
    """Return the outcomes of the steps and of the solution, and the grade."""
    first = beginning(unit)
    steps = runner.perform(first)
    solved: list[Outcome] = []
    check: GradeReport | None = None
    solution = solution_of(unit, seed)
    if solution is not None:
        solved = runner.perform([*environment_step(unit), *read_work(solution, unit.values).steps])
    if unit.check and (solution is not None or unit.kind == "lab"):
        runner.run_topology()
        check = grade.report(unit, grade.grade(unit, runner.network, say), seed)
    steps += runner.perform(unit.steps[len(first) :])
    return steps, solved, check


def _report(
    unit: Unit,
    steps: Sequence[Outcome],
    solved: Sequence[Outcome],
    check: GradeReport | None,
    *,
    seed: int,
    clock: str,
    start_jitter_ns: int,
    choice: MachineChoice,
) -> UnitReport:
    figures = [figure for result in [*steps, *solved] for figure in result.figures]
    return {
        "wanlab": __version__,
        "inputs": run_inputs.key(
            unit, seed=seed, clock=clock, start_jitter_ns=start_jitter_ns, choice=choice
        ),
        "unit": unit.name,
        "kind": unit.kind,
        "number": unit.number,
        "title": unit.title,
        "heading": unit.heading,
        "goal": unit.goal,
        "seed": seed,
        "variant": unit.variant(seed),
        "clock": clock,
        "start_jitter_s": start_jitter_ns / 1e9,
        "wire": unit.wire,
        "line_rate": unit.line_rate,
        "steps_count": len(steps),
        "performed": sum(result.is_performed for result in steps),
        "skipped": sum(bool(result.step.skip) for result in steps),
        "counts": {status: count(figures, status) for status in STATUSES},
        "steps": [result.report() for result in steps],
        "solution": [result.report() for result in solved],
        "check": check,
        "records": {},
        "decisions": [
            {"what": d.what, "decided": d.decided, "because": d.because} for d in unit.decisions
        ],
        "virtual_s": 0.0,
        "warnings": [],
    }


# -- a student's work -----------------------------------------------------------------------------


def grade_work(
    unit: Unit,
    script: Path | None,
    *,
    seed: int,
    clock: str,
    say: Say,
    keep: Path | None = None,
    quick: bool = False,
    session: RecordedSession | None = None,
    choice: MachineChoice = NO_CHOICE,
) -> GradeReport:
    """Grade a script in a separate network: commands of the client's terminal, or steps (.yaml).

    Without a script, grade the state that the unit begins with. `session` is performed after the
    script. `keep` is the folder that becomes /home/admin. With `quick`, the iperf3 tests of the work
    itself, which are not graded, last QUICK_S seconds.
    """
    unit = for_seed(unit, seed)
    work = None if session is None else SessionWork(session)
    with TemporaryFolder("check") as temporary:
        home = output_folder(keep or temporary / "home").make()
        if work is not None:
            work.restore_files(home, unit)
        student_files.install(home, [unit])
        folder = home.path.resolve()
        steps = _submission(unit, script, folder) if script else ()
        if quick:
            steps = [replace(step, lines=tuple(map(shortened, step.lines))) for step in steps]
        with StepRunner(
            unit,
            folder,
            guest_folder=student_files.guest_folder(),
            seed=seed,
            clock=clock,
            say=say,
            confines=True,
            choice=choice,
        ) as runner:
            before: list[Outcome] = []
            if unit.kind == "lab":
                runner.run_topology()
            else:
                before = runner.perform([*beginning(unit), *environment_step(unit)])
            outcomes = runner.perform(steps)
            if work is not None:
                say("performing the session")
                outcomes += work.perform(runner.network, seed)
            programs, changed = runner.programs, runner.end_confinement()
            runner.run_topology()
            marks = grade.grade(unit, runner.network, say)
            kernel = runner.network.machine.describe()["kernel_manifest"]
            notes = grade.notes_on_processor(runner.network)
    report = grade.report(unit, marks, seed)
    _report_outcomes(report, before, outcomes, script)
    report["programs"] = [
        {"path": program["path"], "sha256": program["sha256"]} for program in programs
    ]
    report["changed_programs"] = changed
    report["graded_with"] = {
        "wanlab": __version__,
        "code": run_inputs.code(),
        "kernel": kernel,
    }
    if work is not None:
        notes += work.notes
    if notes or work is not None:
        report["notes"] = notes
    return report


def _report_outcomes(
    report: GradeReport, before: list[Outcome], outcomes: list[Outcome], script: Path | None
) -> None:
    """Add the problems of all steps, and the outputs of those of the submission, to a report."""
    report["problems"] = [
        problem
        for outcome in [*before, *outcomes]
        if outcome.step.text
        for problem in _problems(outcome, script)
    ]
    for outcome in outcomes:
        outcome.output = _bounded(outcome.output)
    report["outputs"] = [outcome.report() for outcome in outcomes]


def _problems(outcome: Outcome, script: Path | None) -> list[str]:
    """Return a step's problems in a student's terms: for a script, the lines that bash names."""
    command = outcome.step.text.splitlines()[0]
    if outcome.problems and script is not None and command.endswith(f"~/{SUBMISSION}"):
        if lines := SCRIPT_ERROR.findall(outcome.output):
            return [f"{script.name}, {line}" for line in lines]
        command = script.name
    return [f"{command}: {problem}" for problem in outcome.problems]


def _bounded(output: str) -> str:
    if len(output) <= MAX_OUTPUT_CHARACTERS:
        return output
    return f"{output[:MAX_OUTPUT_CHARACTERS]}\n... ({len(output):,} characters in all)"


def _submission(unit: Unit, script: Path, folder: Path) -> Sequence[Step]:
    """Return the steps of a submission, without expectations: these would read the grader's files."""
    if script.suffix in (".yaml", ".yml"):
        is_ours = script.is_relative_to(unit.folder)
        values = unit.values if is_ours else None
        steps = read_work(script, values, is_trusted=is_ours).steps
        return [replace(step, expect=(), says=(), record=None) for step in steps]
    try:
        text = read_input(script, max_bytes=hand_in.MAX_BYTES).decode()
    except UnicodeDecodeError as error:
        raise WanlabError(f"cannot read {script}: {reason_of(error)}") from None
    text = text.replace("\r\n", "\n")  # written on Windows
    SharedFolder(folder).write(SUBMISSION, text.encode())
    return [Step(1, "", (CLIENT,), (f"source ~/{SUBMISSION}",))]


def shortened(line: str) -> str:
    """Return a command with the duration of its iperf3 test set to QUICK_S."""
    return re.sub(r"(iperf3 .*-t )\d+", rf"\g<1>{QUICK_S}", line)


# -- files ----------------------------------------------------------------------------------------


def _write(unit: Unit, records: Sequence[StepRecord], report: UnitReport, folder: Path) -> None:
    _write_records(records, folder)
    provenance = Provenance(
        wanlab=__version__,
        seed=report["seed"],
        clock=report["clock"],
        wire=report["wire"],
        warnings=tuple(report["warnings"]),
    )
    drawn = pictures.draw_all(records, folder, provenance, unit.heading)
    results = output_folder(folder)
    results.write("report.html", page.page(report, drawn).encode())
    results.write("report.txt", table.text(report).encode())
    _write_steps(all_steps(report), report, folder)


def _write_interrupted(unit: Unit, runner: StepRunner, folder: Path) -> None:
    """Write the results of an interrupted run; nothing if its network has not booted."""
    if not runner.has_booted:
        output_folder(folder).remove_tree("home")
        return
    steps = [outcome.report() for outcome in runner.outcomes]
    with suppress(OSError, WanlabError):
        runner.end_all_sampling()
        _write_records(runner.records, folder)
        _write_steps(steps, {"unit": unit.name, "interrupted": True, "steps": steps}, folder)


def _write_records(records: Sequence[StepRecord], folder: Path) -> None:
    for step_record in records:
        record.write(step_record.record, folder / step_record.name, replace=True)


def _write_steps(steps: list[StepReport], report: Mapping[str, object], folder: Path) -> None:
    results = output_folder(folder)
    results.write("transcript.txt", transcript(steps).encode())
    text = json.dumps(report, indent=2, sort_keys=True) + "\n"
    results.write("report.json", text.encode())
