"""How long the sweeps of a unit took on this computer, and an estimate of its full design's time.

Costs have files of their own, because measurements do not depend on the computer.

The estimate assumes that the processor time of a run is proportional to the parameters that determine
its load: the network time, the rate of the link, the number of servers or chunks. The fixed cost of a
run, such as the start of its machine, is scaled in the same way, so estimates of much longer runs are
too high rather than too low.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.run.design import Value
from wanlab.shared_folder import output_folder
from wanlab.units import parse_rate

from .unit import FULL, QUICK, GalleryUnit

FOLDER = "computer"
"""The folder of costs, beside the measurements."""

PROPORTIONAL = ("seconds", "until", "chunks", "servers", "rate")


@dataclass(frozen=True)
class Cost:
    """How long a sweep took; None where some of its runs came from the cache, or it is unknown."""

    real_s: float | None = None
    processor_s: float | None = None


UNKNOWN = Cost()


def write_cost(measurement: Path, cost: Cost) -> None:
    """Write the cost of the sweep whose measurement is in this file."""
    rounded = {
        name: None if value is None else round(value, 1) for name, value in asdict(cost).items()
    }
    path = _path(measurement)
    output_folder(path.parent).write(path.name, (json.dumps(rounded) + "\n").encode())


def read_cost(measurement: Path) -> Cost:
    """Return the cost of the sweep whose measurement is in this file; UNKNOWN if it was not kept."""
    path = _path(measurement)
    try:
        return Cost(**json.loads(output_folder(path.parent).read(path.name)))
    except (OSError, ValueError, TypeError):
        return UNKNOWN


def _path(measurement: Path) -> Path:
    return measurement.parent / FOLDER / measurement.name


def estimated_full_s(unit: GalleryUnit, quick: Cost) -> float | None:
    """Return the processor time of the full design in seconds; None if the quick design's is unknown."""
    if quick.processor_s is None:
        return None
    return quick.processor_s * _weight(unit, FULL) / _weight(unit, QUICK)


def _weight(unit: GalleryUnit, size: str) -> float:
    experiment = unit.experiment
    runs = (experiment.resolve(values) for values, _ in unit.design(size).runs())
    return sum(prod(_sizes(parameters)) for parameters in runs)


def _sizes(parameters: Mapping[str, Value]) -> Iterator[float]:
    for name in PROPORTIONAL:
        value = parameters.get(name)
        if isinstance(value, str):
            with suppress(WanlabError):
                yield float(parse_rate(value))
        elif value is not None:
            yield float(value)
