"""Makes the report of a unit, without a machine: `makes`, or tries to."""

from __future__ import annotations

import time
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.job import Job, Say
from wanlab.jobs.worker import Perform
from wanlab.labs import catalog


def makes(data: bytes, folder: Path) -> Perform:
    def perform(job: Job, say: Say) -> None:
        say("step 1 of 2")
        time.sleep(1.2)  # what it says is shown twice a second
        unit = catalog.find(job.subject["unit"])
        page = Path(job.options["results"], unit.run_name(job.subject["seed"]), "report.html")
        page.parent.mkdir(parents=True)
        page.write_text("done")

    return perform


def waits(data: bytes, folder: Path) -> Perform:
    def perform(job: Job, say: Say) -> None:
        say("step 1 of 2")
        time.sleep(1000)

    return perform


def fails(data: bytes, folder: Path) -> Perform:
    def perform(job: Job, say: Say) -> None:
        raise WanlabError("the machine could not be started")

    return perform


def cannot_be_loaded(data: bytes, folder: Path) -> Perform:
    raise WanlabError("no part of it can be loaded")
