"""A single run: from the cache, in a worker process, or in this process."""

from __future__ import annotations

import atexit
from dataclasses import replace

from wanlab.errors import WanlabError
from wanlab.run.definition import Definition
from wanlab.run.design import Parameters
from wanlab.run.key import key_of, origin_of
from wanlab.run.result import Result, Task, read_failure, read_result
from wanlab.run.worker import Job, perform, refuse_in_worker
from wanlab.temporary import TemporaryFolder

from .cache import Cache
from .workers import EndedJob, Workers


def run_once(
    definition: Definition,
    parameters: Parameters,
    seed: int,
    *,
    uses_cache: bool,
    is_here: bool,
) -> Result:
    """Return the result of a run, from the cache if possible.

    The result's folder is in the cache. Without a cache it is temporary and is deleted at exit. Raises
    WanlabError if the run fails.
    """
    refuse_in_worker()
    origin = origin_of(definition, parameters)
    task = Task(dict(parameters), seed, key_of(origin, seed))
    cache = Cache() if uses_cache else None
    if cache and (cached := cache.find(task.key)):
        return cached
    temporary = TemporaryFolder("run")
    atexit.register(temporary.remove)
    folder = temporary.path / "run"
    if is_here:
        source_folder = definition.origin_file.parent if definition.origin_file else None
        perform(definition, task, folder, origin, source_folder)
    else:
        _perform_in_worker(definition, Job(task, folder, None, origin))
    result = read_result(folder)
    assert result is not None, "a run that succeeds writes its result"
    if cache:
        cache.put(result)
        if cached := cache.find(task.key):
            temporary.remove()
            return replace(cached, is_cached=False)
    return result


def _perform_in_worker(definition: Definition, job: Job) -> None:
    workers = Workers(definition.source, 1)
    try:
        workers.can_start()  # raises if there is not enough memory
        workers.start(job)
        ended: list[EndedJob] = []
        while not ended:
            ended = workers.wait(1.0)
    finally:
        workers.close()
    if ended[0].status != "finished":
        failure = read_failure(job.folder)
        if failure is None:
            raise WanlabError(
                "the run's process ended without a result; does the computer have enough memory?"
            )
        raise WanlabError(str(failure))
