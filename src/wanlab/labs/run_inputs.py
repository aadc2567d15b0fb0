"""Everything that decides the numbers of a unit's run, or the grade of a submission.

The numbers follow from the seed, the clock, wanlab's code, the kernel, the programs, Python, the unit
and the course's scripts. If a finished run has the key of a new run, the new run is not needed. The
grade of a submission follows from the same, and from the submission.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from wanlab.jobs.origin import (
    UNINVOLVED_FOLDERS,
    Origin,
    code_hash,
    current_origin,
    file_hashes,
    key_of,
)
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.shared_folder import output_folder

from .grade import programs_of
from .report import UnitReport
from .student_files import figures_of
from .unit import Unit

COMPUTER = "computer.json"
"""The only file of a run that depends on the computer and on its other load."""

UNITS = "labs/units"
UNINVOLVED = UNINVOLVED_FOLDERS - {"labs", "mininet"} | {UNITS}
"""Folders of wanlab that take no part in a lab. Of the units, only the one that is run does."""


def origin_of(
    unit: Unit,
    clock: str,
    submission: Mapping[str, str] | None = None,
    *,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> Origin:
    """Return what the numbers of a unit depend on, except for the seed.

    `submission` has the hashes of the work that is graded.
    """
    only_read = {"lesson.md", *(figure.name for figure in figures_of(unit))}
    inputs = {
        **file_hashes(unit.folder, "unit", only_read),
        **(submission or {}),
    }
    return current_origin(
        inputs,
        parameters={"start_jitter_ns": start_jitter_ns} if start_jitter_ns else {},
        clock=clock,
        kernel=choice.kernel,
        cpu=choice.cpu,
        programs=programs_of(unit),
        uninvolved_folders=UNINVOLVED,
    )


def code() -> str:
    """Return the hash of wanlab's files that take part in every lab."""
    return code_hash(uninvolved_folders=UNINVOLVED)


def key(
    unit: Unit,
    *,
    seed: int,
    clock: str,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> str:
    """Return the key of a run of this unit with the kernel that would boot now."""
    origin = origin_of(unit, clock, start_jitter_ns=start_jitter_ns, choice=choice)
    return key_of(origin, seed)


def finished_run(
    results: Path,
    unit: Unit,
    *,
    seed: int,
    clock: str,
    start_jitter_ns: int = 0,
    choice: MachineChoice = NO_CHOICE,
) -> UnitReport | None:
    """Return the report of a finished run of equal inputs; None if there is none in `results`."""
    with suppress(OSError, ValueError):
        content = output_folder(results).read(f"{unit.run_name(seed)}/report.json")
        report: UnitReport = json.loads(content)
        inputs = key(unit, seed=seed, clock=clock, start_jitter_ns=start_jitter_ns, choice=choice)
        if report.get("inputs") == inputs:
            return report
    return None


def write_computer(
    folder: Path, real_s: float, computed_real_s: Mapping[str, float], warnings: Iterable[str]
) -> None:
    """Write into a run's folder, apart from its report, how long it took, how long the programs of each
    node computed, and warnings of that."""
    data = {
        "real_s": round(real_s, 3),
        "programs_computed_real_s": computed_real_s,
        "warnings": list(warnings),
    }
    output_folder(folder).write(COMPUTER, f"{json.dumps(data, indent=2)}\n".encode())


def computing_warnings(folder: Path) -> list[str]:
    """Return what to know about programs that computed for long in the run in a folder."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return list(map(str, json.loads(output_folder(folder).read(COMPUTER))["warnings"]))
    return []


def read_real_s(folder: Path) -> float | None:
    """Return how long the run in a folder took; None if that is unknown."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return float(json.loads(output_folder(folder).read(COMPUTER))["real_s"])
    return None
