"""`wanlab lab list`, `run` and `check`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from wanlab import __version__
from wanlab.errors import WanlabError
from wanlab.labs import agreement, catalog, report, run_inputs, summary, table
from wanlab.machine.embedded import find_image
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import file_error, write_output

from .progress import Progress, SeriesProgress

RED, GREEN, YELLOW, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
COLOURS = {
    agreement.WITHIN: GREEN,
    agreement.HOLDS: GREEN,
    agreement.SAME: YELLOW,
    agreement.CONTRADICTS: RED,
    agreement.UNKNOWN: RED,
}


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


def run(
    name: str,
    *,
    seed: int | None,
    clock: str,
    results: Path,
    as_json: bool,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Run a unit and print its report; return 0 if no step failed and no number is astray."""
    unit = catalog.find(name)
    seed = unit.seed if seed is None else seed
    from wanlab.labs import series, unit_run  # it loads matplotlib, which takes a second

    progress = Progress()
    try:
        conditions = f"seed {seed}, {clock} clock, {unit.wire} wire{series.with_processor(choice)}"
        progress.say(f"{unit.heading} ({conditions})")
        unit_report = unit_run.run_unit(
            unit,
            seed=seed,
            clock=clock,
            results=results,
            say=progress.say,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    finally:
        progress.end()
    if as_json:
        print(json.dumps(unit_report, indent=2, sort_keys=True))
    else:
        print(_coloured(table.text(unit_report)), end="")
        for warning in run_inputs.computing_warnings(results / unit.run_name(seed)):
            print(f"warning: {warning}")
        print(
            f"after {progress.real_s():.0f} s ({unit_report['virtual_s']:.0f} s of virtual time); "
            f"records, figures and transcript are in {results / unit.run_name(seed)}"
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
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Run each unit in a separate process, `jobs` at a time, and print a summary.

    `markdown` is the file to write all numbers to, such as docs/evidence/course.md; `distributions` is
    a folder with files that `run_seeds` has written. With `resumes`, finished runs are not repeated.
    Return 1 if a unit failed.
    """
    from wanlab.labs import course_page, distribution, series

    names = catalog.expanded(names)
    known = distribution.read_all(distributions) if distributions is not None else {}
    with SeriesProgress() as progress:
        ended = series.run_units(
            names,
            jobs=jobs,
            seeds=None if seed is None else [seed],
            clock=clock,
            results=results,
            resumes=resumes,
            listener=progress,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    rows = [
        summary.row_of(unit.name, unit.status, unit.report, unit.error, unit.folder)
        for unit in ended
    ]
    page = series.write_summary(rows, results, seed=seed, clock=clock, choice=choice)
    if markdown is not None:
        conditions = _conditions(seed, clock, sum(unit.real_s for unit in ended), choice)
        reports = {unit.name: unit.report for unit in ended if unit.report is not None}
        reasons = {row["name"]: catalog.find(row["name"]).seed_why for row in rows}
        _write(markdown, course_page.page(rows, reports, conditions, known, reasons))
    if as_json:
        print(json.dumps(rows, indent=2, sort_keys=True))
    else:
        print(summary.text(rows), end="")
        for unit in ended:
            for warning in run_inputs.computing_warnings(results / unit.folder):
                print(f"warning: {unit.name}: {warning}")
        print(f"after {progress.real_s():.0f} s; summary and reports: {page}")
    return 1 if any(row["status"] for row in rows) else 0


def run_seeds(
    names: list[str],
    *,
    seeds: Sequence[int],
    clock: str,
    results: Path,
    as_json: bool,
    jobs: int,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Run one unit with many seeds and print the distribution of each number.

    Finished runs are not repeated. Return 1 if a seed left no report; a number outside the manual's
    band is not a failure here.
    """
    from wanlab.labs import distribution, series

    with SeriesProgress() as progress:
        result, path = series.distribution_of(
            names,
            seeds=seeds,
            clock=clock,
            results=results,
            jobs=jobs,
            listener=progress,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    _write(path, result.to_json())
    if as_json:
        print(result.to_json(), end="")
    else:
        print(distribution.text(result, catalog.find(result.unit).heading), end="")
        for seed, error in result.failed.items():
            print(f"seed {seed} failed: {error}")
        print(f"all values are in {path}")
    return 1 if result.failed else 0


def _conditions(seed: int | None, clock: str, wall_s: float, choice: MachineChoice) -> str:
    """Return the conditions of a run, for the course's page."""
    from wanlab.labs import series

    seeds = "each unit's own seed (1 unless its section says otherwise)"
    image = find_image(choice.kernel)
    return (
        f"{seeds if seed is None else f'seed {seed}'}, {clock} clock{series.with_processor(choice)}, "
        f"wanlab {__version__}, Linux {image.release} (manifest {image.manifest_hash[:12]}). "
        f"All runs together took {wall_s / 60:.0f} minutes of wall time, which depends on the "
        "computer and its other load."
    )


def _write(path: Path, text: str) -> None:
    try:
        write_output(path, text)
    except OSError as error:
        raise file_error("write", path, error) from None


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
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Grade a script or a session, or, inside `wanlab lab start`, the network that is running there."""
    from wanlab.labs import checking

    unit = catalog.find(name, units)
    progress = Progress()
    try:
        grade = checking.check(
            unit,
            script=script,
            session=session,
            seed=unit.seed if seed is None else seed,
            clock=clock,
            say=progress.say,
            keep=keep,
            choice=choice,
        )
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
