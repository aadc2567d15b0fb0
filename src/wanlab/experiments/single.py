"""One run by itself: from the cache, in a process of its own, or in this one."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from wanlab.errors import WanlabError

from .cache import Cache
from .definition import Experiment
from .design import Parameters
from .origin import key_of, origin_of
from .result import Result, Task, read_failure, read_result
from .worker import Job, perform, refuse_in_worker
from .workers import Ended, Workers


def run_once(
    experiment: Experiment,
    parameters: Parameters,
    seed: int,
    *,
    uses_cache: bool,
    is_here: bool,
) -> Result:
    """Its folder is in the cache; without one it is a temporary one, which goes when we end."""
    refuse_in_worker()
    origin = origin_of(experiment, parameters)
    task = Task(dict(parameters), seed, key_of(origin, seed))
    cache = Cache() if uses_cache else None
    known = cache.find(task.key) if cache else None
    if known is None:
        made = Path(tempfile.mkdtemp(prefix="wanlab-run-")) / "run"
        atexit.register(shutil.rmtree, made.parent, ignore_errors=True)
        if is_here:
            folder = experiment.origin_file.parent if experiment.origin_file else None
            perform(experiment, task, made, origin, folder)
        else:
            _perform_elsewhere(experiment, Job(task, made, None, origin))
        known = read_result(made)
        assert known is not None, "it has ended well"
        if cache:
            cache.put(known)
            if kept := cache.find(task.key):
                shutil.rmtree(made.parent, ignore_errors=True)
                return replace(kept, is_cached=False)
    return known


def _perform_elsewhere(experiment: Experiment, job: Job) -> None:
    workers = Workers(experiment.source, 1)
    try:
        workers.can_start()  # says so if there is no memory for it
        workers.start(job)
        ended: list[Ended] = []
        while not ended:
            ended = workers.wait(1.0)
    finally:
        workers.close()
    if ended[0].status != "finished":
        failure = read_failure(job.folder)
        if failure is None:
            raise WanlabError("the run's process was lost")
        raise WanlabError(str(failure))
