"""The key of a run: the hash of everything that its result depends on (see `jobs.origin`)."""

from __future__ import annotations

from collections.abc import Mapping

from wanlab.jobs.origin import Origin, current_origin

from .definition import Definition
from .design import Parameters
from .run import CPU, KERNEL


def origin_of(
    definition: Definition,
    parameters: Parameters,
    kernel: str = "",
    cpu: Mapping[str, object] | None = None,
) -> Origin:
    """Return what the result of a run with these parameters depends on, except for its seed.

    `kernel` is for a run whose parameters name none. `cpu` is the processor, from an origin (default:
    what the parameters or the user have chosen).
    """
    is_set = definition.has_set(CPU, parameters)
    return current_origin(
        {"experiment": definition.source.digest()},
        parameters=parameters,
        kernel=str(parameters.get(KERNEL, "")) or kernel,
        cpu=str(parameters[CPU]) if cpu is None and is_set else cpu,
        programs=definition.programs,
    )
