"""Grades a script by its first word, which is the points or an invalid grade, without a machine.

The title in the report is that of the unit which the job names, in the course which it names.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from wanlab.errors import MachineError
from wanlab.jobs.job import Job, Say
from wanlab.jobs.worker import Perform
from wanlab.labs import catalog
from wanlab.labs.class_run import GRADE

LOG = "SAMPLE_GRADING_LOG"


def load(data: bytes, folder: Path) -> Perform:
    return grade


def grade(job: Job, say: Say) -> None:
    work, seed = Path(job.options["work"]), job.subject["seed"]
    course = job.options["course"]
    unit = catalog.find(job.subject["unit"], None if course is None else Path(course))
    script = work.read_text()
    word = script.split()[0] if script.split() else "0"
    with Path(os.environ[LOG]).open("a") as file:
        print(word if script else "-", seed, file=file)
    if word == "forever":
        time.sleep(1000)
    if word == "broken":
        raise MachineError(f"{work}: the machine's kernel panicked")
    passed = word == "4"
    check = {
        "what": "the link is used",
        "measured": True,
        "passed": passed,
        "points": int(word),
        "of": 4,
        "value": None,
        "value_text": "-",
        "band": "any",
        "guard": False,
        "counts": True,
        "hint": "" if passed else "look <here>",
        "reason": "",
    }
    output = {
        "n": 1,
        "at": "",
        "where": "client",
        "command": "x",
        "printed": "",
        "note": "",
        "skipped": "",
        "optional": False,
        "output": "the secret of somebody",
        "figures": [],
        "problems": [],
        "lost": [],
        "began_s": 0,
        "seconds": 0,
    }
    report = {
        "unit": unit.name,
        "title": unit.title,
        "seed": seed,
        "variant": None,
        "points": int(word),
        "of": 4,
        "passed": passed,
        "checks": [check],
        "problems": ["client$ x: exit status 127"],
        "outputs": [output],
        "changed_programs": ["/usr/local/sbin/iperf3"] if "fake" in script else [],
    }
    (job.folder / GRADE).write_text(json.dumps(report))
