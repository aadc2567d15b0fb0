"""The key of a run: the hash of everything that its result depends on (see `jobs.origin`)."""

from __future__ import annotations

from wanlab.jobs.origin import Origin, current_origin

from .definition import Definition
from .design import Parameters
from .run import KERNEL


def origin_of(definition: Definition, parameters: Parameters) -> Origin:
    """Return what the result of a run with these parameters depends on, except for its seed."""
    return current_origin(
        {"experiment": definition.source.digest()},
        parameters=parameters,
        kernel=str(parameters.get(KERNEL, "")),
        programs=definition.programs,
    )
