"""The outcome of a run, and the folder that keeps it.

    buffer=1bdp-seed1-3f2a9c0188d1/
        result.json        parameters, seed, metrics, warnings, key, and the origin behind the key
        record/            the record (see wanlab docs record)
        console.txt        the output of the experiment
        computer.json      how long programs computed here; no other file depends on the computer

The folder of a run that failed:

        failure.json       parameters, seed, key, and the reason
        console.txt

A folder is written under another name and renamed when it is complete, so a folder with its final name
is always complete (see `jobs`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, cast

from wanlab import record as records
from wanlab.errors import RecordError, WanlabError
from wanlab.jobs.job import as_ordered_json, read_console, read_data, read_failure
from wanlab.jobs.origin import Origin
from wanlab.measure.metrics import Metric
from wanlab.record import Record

from .design import Parameters, Value

FORMAT = 1
RESULT, RECORD, COMPUTER = "result.json", "record", "computer.json"
WORKING_FOLDER = "files"
"""The experiment's own files. They are there during the run only."""
MAX_NAME_LENGTH = 80
DIGITS_OF_KEY = 12
MAX_CONSOLE_LINES = 20


class StoredResult(TypedDict):
    """The part of result.json that is read back."""

    experiment: str
    parameters: Parameters
    seed: int
    key: str
    metrics: Mapping[str, Sequence[Any]]
    """Value and unit; then the lowest and highest possible value, if the experiment states them."""
    warnings: Sequence[str]


@dataclass(frozen=True)
class Task:
    """A run to be performed, and its key: the hash of everything that decides its result."""

    parameters: Mapping[str, Value]
    seed: int
    key: str
    varied: tuple[str, ...] = ()
    """Parameters that differ between the runs of its sweep."""

    @property
    def subject(self) -> dict[str, Any]:
        """What distinguishes it from the other runs of an experiment."""
        return {"parameters": dict(self.parameters), "seed": self.seed, "key": self.key}

    @property
    def name(self) -> str:
        """The name of its folder: readable parameters, made unique by the key at the end."""
        values = ",".join(f"{name}={self.parameters[name]}" for name in self.varied)
        text = re.sub(r"[^A-Za-z0-9._=,+-]", "_", values).replace(",", "-")[:MAX_NAME_LENGTH]
        return "-".join(filter(None, [text, f"seed{self.seed}", self.key[:DIGITS_OF_KEY]]))

    def title(self) -> str:
        """Return a line that names the run among those of its sweep."""
        return _title(self.parameters, self.seed, self.varied)


@dataclass(frozen=True)
class Result:
    """The result of a run that succeeded."""

    folder: Path
    experiment: str
    parameters: Mapping[str, Value]
    seed: int
    key: str
    metrics: Mapping[str, Metric]
    warnings: tuple[str, ...]
    is_cached: bool = field(default=False, compare=False)
    """Whether it comes from the cache."""

    @cached_property
    def record(self) -> Record:
        """The record of the run, read from its folder on first use."""
        return records.read(self.folder / RECORD)

    @property
    def console(self) -> str:
        """The output of the experiment."""
        return read_console(self.folder)

    @cached_property
    def computing_warnings(self) -> tuple[str, ...]:
        """What to know about programs that computed for long, on the computer of the run."""
        stored = read_data(self.folder / COMPUTER, FORMAT)
        return tuple(stored["warnings"]) if stored else ()

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric."""
        try:
            return self.metrics[metric].value
        except KeyError:
            hint = ", ".join(self.metrics) or "it has none"
            raise WanlabError(f"the run has no metric {metric!r}", hint) from None


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the reason."""

    folder: Path
    parameters: Mapping[str, Value]
    seed: int
    what: str
    hint: str = ""
    console: str = ""
    """The output of the experiment."""

    def title(self, varied: Sequence[str]) -> str:
        """Return a line that names the run in a sweep that varies these parameters."""
        return _title(self.parameters, self.seed, varied)

    def __str__(self) -> str:
        reason = f"{self.what} ({self.hint})" if self.hint else self.what
        lines = self.console.rstrip().splitlines()[-MAX_CONSOLE_LINES:]
        return "\n".join([reason, *(f"  {line}" for line in lines)])


def _title(parameters: Mapping[str, Value], seed: int, varied: Sequence[str]) -> str:
    return ", ".join([*(f"{name}={parameters[name]}" for name in varied), f"seed {seed}"])


def write_computing(folder: Path, real_s: Mapping[str, float], warnings: Sequence[str]) -> None:
    """Write how long the programs of each node computed. It differs from run to run."""
    data = {"format": FORMAT, "programs_computed_real_s": real_s, "warnings": warnings}
    (folder / COMPUTER).write_text(as_ordered_json(data), encoding="utf-8")


def write_result(
    folder: Path,
    experiment: str,
    task: Task,
    metrics: Mapping[str, Metric],
    record: Record,
    origin: Origin,
) -> None:
    """Write the record, then the file that refers to it."""
    records.write(record, folder / RECORD)
    data = {
        "format": FORMAT,
        "experiment": experiment,
        "parameters": dict(task.parameters),
        "seed": task.seed,
        "key": task.key,
        # JSON has no NaN, so a metric that could not be measured is null.
        "metrics": {name: _stored_metric(metric) for name, metric in metrics.items()},
        "warnings": list(record.provenance.warnings),
        "record": record.digest(),
        "origin": origin,
    }
    (folder / RESULT).write_text(as_ordered_json(data), encoding="utf-8")


def _stored_metric(metric: Metric) -> list[float | str | None]:
    value = None if math.isnan(metric.value) else metric.value
    has_bounds = (metric.least, metric.most) != (None, None)
    return [value, metric.unit, *([metric.least, metric.most] if has_bounds else [])]


def _metric(
    value: float | None, unit: str, least: float | None = None, most: float | None = None
) -> Metric:
    return Metric(float("nan") if value is None else float(value), unit, least, most)


def read_result(folder: Path, *, is_cached: bool = False) -> Result | None:
    """Return the result in a folder; None if there is none or it is incomplete."""
    stored = cast("StoredResult | None", read_data(folder / RESULT, FORMAT))
    if stored is None or not (folder / RECORD).is_dir():
        return None
    try:
        return Result(
            folder=folder,
            experiment=stored["experiment"],
            parameters=stored["parameters"],
            seed=stored["seed"],
            key=stored["key"],
            metrics={name: _metric(*parts) for name, parts in stored["metrics"].items()},
            warnings=tuple(stored["warnings"]),
            is_cached=is_cached,
        )
    except (KeyError, TypeError, ValueError):
        return None


def read_run_failure(folder: Path) -> Failure | None:
    """Return the failure of a run in its folder; None if there is none or it is incomplete."""
    stored = read_failure(folder)
    if stored is None or not {"parameters", "seed"} <= stored.subject.keys():
        return None
    parameters, seed = stored.subject["parameters"], stored.subject["seed"]
    return Failure(folder, parameters, seed, stored.what, stored.hint, stored.console)


def check_record(folder: Path) -> None:
    """Raise RecordError if the record in a run's folder has changed since it was written."""
    stored = read_data(folder / RESULT, FORMAT)
    if stored is None or records.read(folder / RECORD).digest() != stored.get("record"):
        raise RecordError(f"{folder} is damaged")
