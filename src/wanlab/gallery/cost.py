"""Estimate the cost of a unit's full design from that of its quick design.

The estimate assumes that the processor time of a run is proportional to the parameters that determine
its load: the network time, the rate of the link, the number of servers or chunks. The fixed cost of a
run, such as the start of its machine, is scaled in the same way, so estimates of much longer runs are
too high rather than too low.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import prod

from wanlab.errors import WanlabError
from wanlab.run.design import Value
from wanlab.units import parse_rate

from .measurement import MeasuredFigure
from .unit import FULL, QUICK, GalleryUnit

PROPORTIONAL = ("seconds", "until", "chunks", "servers", "rate")


def estimated_full_s(unit: GalleryUnit, quick: MeasuredFigure) -> float | None:
    """Return the processor time of the full design in seconds; None if the quick design's is unknown."""
    if quick.processor_s is None or quick.size != QUICK:
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
