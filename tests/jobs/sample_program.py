"""A program of jobs that need no machine: what a job does is its option."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.job import Job, Say
from wanlab.jobs.worker import Perform


def load(data: bytes, folder: Path) -> Perform:
    if data == b"refuse":
        raise WanlabError("this cannot be loaded", "load something else")

    def perform(job: Job, say: Say) -> None:
        print("the console")
        (job.folder / "half").write_text("written")
        match job.options["do"]:
            case "give":
                (job.folder / "result").write_text(job.options["gives"])
            case "fail":
                error = WanlabError("it is wrong", "do it right")
                error.add_note("half of it is done")
                raise error
            case "break":
                raise KeyError("missing")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "die once":
                seen = Path(job.options["seen"])
                if not seen.exists():
                    seen.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                (job.folder / "result").write_text("again")
            case "hang":
                say("waiting for nothing")
                time.sleep(1000)
            case "tell where":
                (job.folder / "result").write_text(str(Path.cwd()))

    return perform
