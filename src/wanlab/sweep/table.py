"""Results as one table: a row per run, in the design's order.

    rate | buffer | algorithm | seed | goodput [Mbit/s] | delay_mean [ms] | warnings

Nothing in it depends on when, where or in which order the runs were performed, and all options that
affect the file's bytes are set. So the same results give the same file (with one version of pyarrow).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.record import Column, Table
from wanlab.record.parquet import write_table as write_parquet
from wanlab.run.design import Value
from wanlab.run.result import Result

TABLE = "results.parquet"
NOT_MEASURED = float("nan")


def table_of(results: Sequence[Result]) -> Table:
    """Return the table of these results; a metric that a run does not have is NaN there.

    Raises WanlabError if a metric has several units.
    """
    if not results:
        return Table()
    columns = [
        _parameter_column(name, [result.parameters[name] for result in results])
        for name in results[0].parameters
    ]
    columns.append(Column.of("seed", [result.seed for result in results], ""))
    for name, unit in _metric_units(results).items():
        values = [
            result.metrics[name].value if name in result.metrics else NOT_MEASURED
            for result in results
        ]
        columns.append(Column.of(name, values, unit))
    columns.append(Column.of("warnings", [len(result.warnings) for result in results], ""))
    return Table(tuple(columns))


def write_table(table: Table, folder: Path) -> Path:
    """Write the table into the sweep's folder atomically; return its path."""
    path = folder / TABLE
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    write_parquet(table, unfinished)
    unfinished.replace(path)
    return path


def _parameter_column(name: str, values: Sequence[Value]) -> Column:
    """Return a column of numbers, or of strings if the parameter is a string in some run."""
    if any(isinstance(value, str) for value in values):
        return Column.of(name, [str(value) for value in values], "")
    return Column.of(name, values, "")


def _metric_units(results: Sequence[Result]) -> dict[str, str]:
    """Return the unit of each metric, in the order in which the experiment sets them."""
    units: dict[str, str] = {}
    for result in results:
        for name, metric in result.metrics.items():
            if units.setdefault(name, metric.unit) != metric.unit:
                raise WanlabError(
                    f"the metric {name} is in {units[name]} in some runs and in {metric.unit} in others",
                    "give it the same unit in all runs",
                )
    return units
