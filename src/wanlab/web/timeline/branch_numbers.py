"""Numbers of branches beside each other: means, highest values and drops over the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..protocol.branches import BranchNumbers
from ..protocol.commands import SeriesKind
from .curve_memory import CurveKey, CurveMemory, Sample

SHOWN: tuple[SeriesKind, ...] = ("throughput", "queue", "drops", "rtt", "load")
MIN_SHARE = 0.01
"""A curve that is smaller everywhere than this share of the largest of its kind is left out."""
Values = dict[CurveKey, list[float]]


def numbers(memories: Sequence[CurveMemory], from_s: float, to_s: float) -> list[BranchNumbers]:
    """Return the numbers of all curves that matter, each with one value for each branch.

    A flow is the same in two branches if its ends are, or else by its destination and its place in
    the order: the sender may have another port in each.
    """
    known = [_values(memory, from_s, to_s) for memory in memories]
    found = [
        BranchNumbers(
            kind=key.kind,
            port=key.port,
            flow=key.flow,
            unit=next(memory.unit(key.kind) for memory in memories if memory.unit(key.kind)),
            means=tuple(_mean(key, one) for one in values),
            highest=tuple(_highest(key, one) for one in values),
        )
        for key, values in _matched(known)
    ]
    largest = {
        kind: max((_largest(one) for one in found if one.kind == kind), default=0.0)
        for kind in SHOWN
    }
    shown = [one for one in found if _largest(one) > MIN_SHARE * largest[one.kind]]
    return sorted(shown, key=lambda one: (SHOWN.index(one.kind), -_largest(one)))


def _values(memory: CurveMemory, from_s: float, to_s: float) -> Values:
    return {
        key: values
        for key, samples in memory.curves()
        if key.kind in SHOWN and (values := _between(samples, from_s, to_s))
    }


def _between(samples: Sequence[Sample], from_s: float, to_s: float) -> list[float]:
    return [value for time_s, value in samples if from_s < time_s <= to_s and value is not None]


def _matched(known: Sequence[Values]) -> Iterator[tuple[CurveKey, list[list[float]]]]:
    """Yield each curve with its values in all branches; [] where a branch does not have it."""
    taken: list[set[CurveKey]] = [set() for _ in known]
    for row, values in enumerate(known):
        for key in values:
            if key in taken[row]:
                continue
            same = [_same(key, other, done) for other, done in zip(known, taken, strict=True)]
            for one, done in zip(same, taken, strict=True):
                if one is not None:
                    done.add(one)
            yield (
                key,
                [[] if one is None else other[one] for one, other in zip(same, known, strict=True)],
            )


def _same(key: CurveKey, others: Values, taken: set[CurveKey]) -> CurveKey | None:
    if key in others and key not in taken:
        return key
    if not key.flow:
        return None
    alike = (one for one in others if one not in taken and _without_port(one) == _without_port(key))
    return next(alike, None)


def _without_port(key: CurveKey) -> tuple[str, str, str, str]:
    sender, _, receiver = key.flow.partition(" > ")
    return key.kind, key.port, sender.rpartition(":")[0], receiver


def _mean(key: CurveKey, values: Sequence[float]) -> float | None:
    if not values or key.kind == "drops":
        return None
    return sum(values) / len(values)


def _highest(key: CurveKey, values: Sequence[float]) -> float | None:
    if key.kind == "drops":  # they are counted from the start of the network
        return values[-1] - values[0] if values else 0.0
    return max(values, default=None)


def _largest(numbers: BranchNumbers) -> float:
    return max((value for value in numbers.highest if value is not None), default=0.0)
