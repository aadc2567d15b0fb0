"""Results as one table: a row per run, in the design's order.

    rate | buffer | algorithm | seed | goodput [Mbit/s] | delay_mean [ms] | warnings

Nothing in it depends on when, where or in which order the runs were performed, and the options that
shape the file's bytes are all given: the same results are the same file (with one version of pyarrow).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError
from wanlab.record import Column, Table
from wanlab.record.file import write_table as write_parquet

from .result import Result

TABLE = "results.parquet"
NOT_MEASURED = float("nan")


def table_of(results: Sequence[Result]) -> Table:
    """Metrics that some runs do not have are NaN there."""
    if not results:
        return Table()
    columns = [
        _parameter(name, [result.parameters[name] for result in results])
        for name in results[0].parameters
    ]
    columns.append(Column.of("seed", [result.seed for result in results], ""))
    for name, unit in _metrics(results).items():
        values = [
            result.metrics[name].value if name in result.metrics else NOT_MEASURED
            for result in results
        ]
        columns.append(Column.of(name, values, unit))
    columns.append(Column.of("warnings", [len(result.warnings) for result in results], ""))
    return Table(tuple(columns))


def write_table(table: Table, folder: Path) -> Path:
    """The file is the old one or the new one, at any moment."""
    path = folder / TABLE
    made = path.with_name(f".{path.name}.{os.getpid()}")
    write_parquet(table, made)
    made.replace(path)
    return path


def _parameter(name: str, values: Sequence[Any]) -> Column:
    """Parameters of one name may be numbers in one run and texts in another: then all are texts."""
    if any(isinstance(value, str) for value in values):
        return Column.of(name, [str(value) for value in values], "")
    return Column.of(name, values, "")


def _metrics(results: Sequence[Result]) -> dict[str, str]:
    """Each metric's unit, in the order in which the experiment gives them."""
    units: dict[str, str] = {}
    for result in results:
        for name, metric in result.metrics.items():
            if units.setdefault(name, metric.unit) != metric.unit:
                raise WanlabError(
                    f"the metric {name} is in {units[name]} in some runs and in {metric.unit} in others",
                    "give it one unit",
                )
    return units
