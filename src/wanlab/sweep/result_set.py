"""What a sweep has measured so far, as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wanlab.record import Table
from wanlab.run.design import Value
from wanlab.run.result import Failure, Result

from .table import table_of


@dataclass(frozen=True, repr=False)
class ResultSet:
    """The results and failures of a sweep, both in the design's order."""

    folder: Path
    experiment: str
    about: str
    varied: tuple[str, ...]
    """Parameters that have several values in the sweep."""
    plots: tuple[str, ...]
    results: tuple[Result, ...]
    failures: tuple[Failure, ...] = ()
    missing: int = 0
    """How many runs have not been performed yet."""

    @cached_property
    def table(self) -> Table:
        """A row per successful run: parameters, seed, metrics with their units, and warnings."""
        return table_of(self.results)

    def __repr__(self) -> str:
        counts = f"{len(self.results)} runs, {len(self.failures)} failed, {self.missing} missing"
        return f"{type(self).__name__}({self.experiment}: {counts}; in {self.folder})"

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)


def group_by_parameters(
    results: Sequence[Result], names: Sequence[str]
) -> dict[tuple[Value, ...], list[Result]]:
    """Return the runs of each point of the design together, in the order of their seeds."""
    groups: dict[tuple[Value, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(result.parameters[name] for name in names), []).append(result)
    return groups
