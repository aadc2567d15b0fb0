"""Grades a student's work on a unit: a script, a session, or the network that is running here."""

from __future__ import annotations

import os
from pathlib import Path

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.jobs.job import Say
from wanlab.network import NO_CHOICE, MachineChoice, StartJitter

from . import grade, unit_file
from .report import GradeReport
from .unit import Unit

INSIDE = Path("/run/wanlab/network.json")
"""Exists in the terminals of a network."""


def check(
    unit: Unit,
    *,
    script: Path | None = None,
    session: Path | None = None,
    seed: int,
    clock: str,
    say: Say,
    keep: Path | None = None,
    choice: MachineChoice = NO_CHOICE,
) -> GradeReport:
    """Grade a script or a session in a network of its own, or without them the network here.

    `keep` is the folder that becomes /home/admin. The network here keeps its machine, whatever the
    `choice`. Raises WanlabError if there is nothing to grade.
    """
    if not unit.check:
        raise WanlabError(f"{unit.heading} has no checks, so it cannot be graded")
    if script is not None and session is not None:
        raise WanlabError("--script and --session cannot be combined", "leave one out")
    if script is None and session is None:
        return _check_here(unit, seed, say)
    from . import session_work, unit_run

    return unit_run.grade_work(
        unit,
        script,
        session=None if session is None else session_work.read_session(session),
        seed=seed,
        clock=clock if session is None else "virtual",
        say=say,
        keep=keep,
        choice=choice,
    )


def _check_here(unit: Unit, seed: int, say: Say) -> GradeReport:
    if not INSIDE.exists():
        raise WanlabError(
            "there is no network to grade here",
            f"run it in a terminal of `wanlab lab start {unit.name}`, or name a file: --script FILE",
        )
    # The network has the faults and values of the seed that it was started with, whatever is asked for.
    seed = int(os.environ.get(StartJitter.SEED_VARIABLE, seed))
    unit = unit_file.for_seed(unit, seed)
    with Network.attach() as network:
        marks = grade.grade(unit, network, say)
        notes = grade.notes_on_processor(network)
    report = grade.report(unit, marks, seed)
    if notes:
        report["notes"] = notes
    return report
