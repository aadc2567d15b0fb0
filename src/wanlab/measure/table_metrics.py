"""Metrics of sampled tables: a column reduced to one number, and the queue of a port.

Reductions: mean, median, min, max, sum, first, last, growth (the last less the first), count, and
p1 to p99.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from wanlab.errors import WanlabError, did_you_mean
from wanlab.record import Table

from .metric_values import Extractor, Metric, MetricReader, StepOutput, largest, mean
from .port_queue import port_backlogs_bytes

Reduction = Callable[[NDArray[np.float64]], float]
TableExtractor = Callable[[Mapping[str, Table]], Metric]

_EXPRESSION = re.compile(r"(\w+)\(\s*([a-z][\w-]*)\.(\w+)\s*((?:,\s*\w+\s*=\s*[^,()]+)*)\)")
REDUCTIONS: Mapping[str, Reduction] = {
    "mean": lambda values: float(np.mean(values)),
    "median": lambda values: float(np.median(values)),
    "min": lambda values: float(np.min(values)),
    "max": lambda values: float(np.max(values)),
    "sum": lambda values: float(np.sum(values)),
    "first": lambda values: float(values[0]),
    "last": lambda values: float(values[-1]),
    "growth": lambda values: float(values[-1] - values[0]),
    "count": lambda values: float(len(values)),
}


def parse(text: str) -> TableExtractor | None:
    """Parse `mean(tcp.rtt_us, node=h1)`; return None if the text does not have this form."""
    match = _EXPRESSION.fullmatch(text.strip())
    if match is None:
        return None
    name, table, column = match[1], match[2], match[3]
    reduce = _reduction(name)
    conditions = {
        key.strip(): value.strip()
        for key, _, value in (part.partition("=") for part in match[4].split(",") if part.strip())
    }

    def extract(tables: Mapping[str, Table]) -> Metric:
        if table not in tables:
            hint = did_you_mean(table, tables)
            raise WanlabError(f"nothing was sampled into a table {table!r}", hint)
        rows = tables[table]
        for key, value in conditions.items():
            rows = rows.where(**{key: _as_in_column(rows, key, value)})
        selected = rows.column(column)
        if not isinstance(selected.values, np.ndarray):
            raise WanlabError(f"the column {column} of {table} holds text, not numbers")
        finite = selected.values[np.isfinite(selected.values)]
        if not len(finite) and name != "count":
            where = "".join(f" of {key} {value}" for key, value in conditions.items())
            raise WanlabError(f"{table}.{column} has no values{where}")
        return Metric(reduce(finite), "" if name == "count" else selected.unit)

    return extract


def _reduction(name: str) -> Reduction:
    if percentile := re.fullmatch(r"p(\d\d?)", name):
        return lambda values: float(np.percentile(values, int(percentile[1])))
    if name not in REDUCTIONS:
        raise WanlabError(f"unknown reduction {name}()", did_you_mean(name, [*REDUCTIONS, "p95"]))
    return REDUCTIONS[name]


def _as_in_column(rows: Table, name: str, value: str) -> str | int | float:
    """Convert the value of a condition to the type of its column."""
    kind = rows.column(name).kind
    try:
        if kind == "int64":
            return int(value)
        return float(value) if kind == "float64" else value
    except ValueError:
        raise WanlabError(f"{name} holds numbers, and {value!r} is not a number") from None


# -- the queue of a port --------------------------------------------------------------------------

_QUEUE: Mapping[str, Callable[[list[float], str], float]] = {
    "first_bytes": lambda backlogs, _: backlogs[0] if backlogs else 0.0,
    "peak_bytes": largest,
    "mean_bytes": mean,
}


def _queue(port: str | None, path: str) -> Extractor:
    assert port is not None, "the reader needs an argument"

    def extract(step: StepOutput) -> Metric:
        if port not in step.queues:
            raise WanlabError(f"the queue of {port} was not sampled")
        backlogs = [float(backlog) for backlog in port_backlogs_bytes(step.queues[port])]
        return Metric(_QUEUE[path](backlogs, f"the queue of {port}"), "B")

    return extract


READERS: Mapping[str, MetricReader] = {
    "queue": MetricReader(_queue, tuple(_QUEUE), needs_argument=True),
}
