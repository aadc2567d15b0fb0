"""A single run: from the cache, in a worker process, or in this process."""

from __future__ import annotations

import atexit
from dataclasses import replace

from wanlab.errors import WanlabError
from wanlab.jobs.batch import MEMORY_HINT, perform_one
from wanlab.jobs.job import FINISHED
from wanlab.jobs.origin import key_of
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.run.definition import Definition
from wanlab.run.design import Parameters
from wanlab.run.key import origin_of
from wanlab.run.perform import job_of, perform, program_of, refuse_in_worker
from wanlab.run.result import Result, Task, read_result, read_run_failure
from wanlab.temporary import TemporaryFolder

from .cache import Cache


def run_once(
    definition: Definition,
    parameters: Parameters,
    seed: int,
    *,
    uses_cache: bool,
    is_here: bool,
    choice: MachineChoice = NO_CHOICE,
) -> Result:
    """Return the result of a run, from the cache if possible.

    The result's folder is in the cache. Without a cache it is temporary and is deleted at exit. Raises
    WanlabError if the run fails.
    """
    refuse_in_worker()
    origin = origin_of(definition, parameters, choice.kernel)
    task = Task(dict(parameters), seed, key_of(origin, seed))
    cache = Cache() if uses_cache else None
    if cache and (cached := cache.find(task.key)):
        return cached
    temporary = TemporaryFolder("run")
    atexit.register(temporary.remove)
    folder = temporary.path / "run"
    if is_here:
        source_folder = definition.origin_file.parent if definition.origin_file else None
        perform(definition, task, folder, origin, choice, source_folder)
    else:
        job = job_of(task, folder, origin, choice)
        ended = perform_one(program_of(definition.source), job)
        if ended.status != FINISHED:
            failure = read_run_failure(folder)
            reason = f"the run's process ended without a result; {MEMORY_HINT}"
            raise WanlabError(reason if failure is None else str(failure))
    result = read_result(folder)
    assert result is not None, "a run that succeeds writes its result"
    if cache:
        cache.put(result)
        if cached := cache.find(task.key):
            temporary.remove()
            return replace(cached, is_cached=False)
    return result
