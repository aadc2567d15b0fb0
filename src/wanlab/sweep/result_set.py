"""The results of a sweep so far, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    skipped: int = 0
    """How many of them were not started, because runs with the same values had failed."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The experiment's words for its metrics and parameters."""

    @cached_property
    def table(self) -> Table:
        """A row per successful run: parameters, seed, metrics with their units, and warnings."""
        return table_of(self.results)

    def seeds_without_effect(self) -> str:
        """Return a warning if every point was repeated and all repeats are equal; otherwise ""."""
        names = tuple(self.results[0].parameters) if self.results else ()
        points = group_by_parameters(self.results, names).values()
        if not points or min(map(len, points)) < 2:
            return ""
        if any(result.metrics != point[0].metrics for point in points for result in point):
            return ""
        return (
            f"the seeds change nothing: {len(self.results)} runs of {len(points)} combinations of "
            "values, and all repeats are equal, because nothing in them is random"
        )

    def computing_warning(self) -> str:
        """Return a warning if programs computed for long in some runs; otherwise "".

        It depends on the computers of the runs, so no report has it.
        """
        found = [result.computing_warnings for result in self.results if result.computing_warnings]
        if not found:
            return ""
        return (
            f"in {len(found)} of {len(self.results)} runs, as in the first: {'; '.join(found[0])}"
        )

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
