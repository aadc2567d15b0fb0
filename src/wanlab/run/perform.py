"""Performs runs: in this process, or as jobs in worker processes (see `wanlab.jobs`)."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.archive import unpack
from wanlab.jobs.job import Job, Say
from wanlab.jobs.origin import Origin, differences
from wanlab.jobs.worker import JobProgram, Perform
from wanlab.network import MachineChoice

from .definition import Definition
from .key import origin_of
from .loading import load_definition
from .result import WORKING_FOLDER, Task, write_computing, write_result
from .run import CPU, Run
from .source import SourceCode

_is_worker = False


def refuse_in_worker() -> None:
    """Raise WanlabError in a worker process.

    A script that performs runs when it is loaded would do so in its workers too, and never end.
    """
    if _is_worker:
        raise WanlabError(
            "the experiment's file performs runs while a worker loads it",
            'move that code below: if __name__ == "__main__":',
        )


def program_of(source: SourceCode) -> JobProgram:
    """Return what workers perform for this experiment."""
    head = json.dumps({"entry": source.entry, "name": source.name}).encode()
    return JobProgram(load, head + b"\n" + source.to_bytes())


def load(data: bytes, folder: Path) -> Perform:
    """Load an experiment in a worker; return the function that performs one of its runs."""
    global _is_worker
    _is_worker = True
    head, _, files = data.partition(b"\n")
    named = json.loads(head)
    entry = unpack(files, folder) / named["entry"]
    definition = load_definition(entry, named["name"], Definition)
    import pyarrow.parquet  # noqa: F401  before the first fork, so that no run loads it again

    def perform_job(job: Job, say: Say) -> None:
        origin: Origin = job.options["origin"]
        task = Task(**job.subject)
        choice = MachineChoice(**job.options["machine"])
        if job.options["is_checked"]:
            _check_origin(definition, task, origin, choice.kernel)
        perform(definition, task, job.folder, origin, choice, folder)

    return perform_job


def job_of(
    task: Task,
    folder: Path,
    origin: Origin,
    choice: MachineChoice,
    final: Path | None = None,
    *,
    is_checked: bool = False,
) -> Job:
    """Return the job that performs a run and writes its folder.

    With `is_checked`, the computer that performs it refuses it if the result would be another one.
    """
    options = {"origin": origin, "machine": asdict(choice), "is_checked": is_checked}
    return Job(task.title(), task.subject, folder, options, final)


def perform(
    definition: Definition,
    task: Task,
    folder: Path,
    origin: Origin,
    choice: MachineChoice,
    source_folder: Path | None,
) -> None:
    """Perform a run in this process and write its folder."""
    working = folder / WORKING_FOLDER
    working.mkdir(parents=True)
    for name in definition.files:
        assert source_folder is not None
        (working / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source_folder / name, working / name)
    run = Run(
        definition.name,
        task.parameters,
        task.seed,
        working,
        files=definition.files,
        choice=choice,
        cpu=origin["cpu"],
        replaces_cpu=definition.has_set(CPU, task.parameters),
    )
    definition.function(run, **definition.own(task.parameters))
    shutil.rmtree(working)
    write_computing(folder, run.computing_real_s, run.computing_warnings)
    write_result(folder, definition.name, task, run.metrics, run.record(), origin)


def _check_origin(definition: Definition, task: Task, origin: Origin, kernel: str) -> None:
    """Raise WanlabError if kernel, wanlab or programs of this computer differ from the origin's."""
    # The processor is the origin's, which has the content of a model's file.
    here = origin_of(definition, task.parameters, kernel, origin["cpu"])
    if different := differences(origin, here):
        raise WanlabError(
            f"{os.uname().nodename} would give a different result: {'; '.join(different)}",
            "install the same wanlab, kernel and programs there as here",
        )
