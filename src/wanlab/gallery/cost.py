"""Estimate the cost of a unit's full design from that of its quick design.

Assumed is that the processor time of a run is proportional to those of its parameters that say how much
it carries: the network time, the rate of the link, the number of servers or chunks. What a run costs
besides, such as the start of its machine, is counted as often as the rest, so estimates of much longer
runs are too high rather than too low.
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
    """Return the processor time of the full design in seconds; None if that of the quick is unknown."""
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
