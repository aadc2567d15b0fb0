"""What became of a run, and the folder that keeps it.

    buffer=1bdp-seed1-3f2a9c0188d1/
        result.json        parameters, seed, metrics, warnings, key, and what the key was made of
        record/            the record (see docs/record.md)
        console.txt        what the experiment printed

of a run that failed:

        failure.json       parameters, seed, key, and why
        console.txt

A folder is made under another name and renamed when all of it is there: what has its name is whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from wanlab import record as records
from wanlab.errors import RecordError, WanlabError
from wanlab.measure.metrics import Metric
from wanlab.record import Record

from .design import Value

FORMAT = 1
RESULT, FAILURE, RECORD, CONSOLE = "result.json", "failure.json", "record", "console.txt"
MOST_OF_A_NAME = 80
DIGITS_OF_KEY = 12
MOST_CONSOLE_LINES = 20


@dataclass(frozen=True)
class Task:
    """One run of a sweep: what is to be done, and the hash of all that decides what comes of it."""

    parameters: Mapping[str, Value]
    seed: int
    key: str
    varied: tuple[str, ...] = ()
    """Parameters that tell it from others of its sweep."""

    @property
    def name(self) -> str:
        """Of its folder: for people first, unambiguous by the key at its end."""
        said = ",".join(f"{name}={self.parameters[name]}" for name in self.varied)
        text = re.sub(r"[^A-Za-z0-9._=,+-]", "_", said).replace(",", "-")[:MOST_OF_A_NAME]
        return "-".join(filter(None, [text, f"seed{self.seed}", self.key[:DIGITS_OF_KEY]]))

    def title(self) -> str:
        """In one line."""
        return _title(self.parameters, self.seed, self.varied)


@dataclass(frozen=True)
class Result:
    """A run that ended well."""

    folder: Path
    experiment: str
    parameters: Mapping[str, Value]
    seed: int
    key: str
    metrics: Mapping[str, Metric]
    warnings: tuple[str, ...]
    is_cached: bool = field(default=False, compare=False)
    """Whether it was answered from the cache."""

    @cached_property
    def record(self) -> Record:
        """What it measured, with its origin; read when it is first asked for."""
        return records.read(self.folder / RECORD)

    @property
    def console(self) -> str:
        """What the experiment printed."""
        return read_console(self.folder)

    def __getitem__(self, metric: str) -> float:
        """The value of a metric."""
        try:
            return self.metrics[metric].value
        except KeyError:
            known = ", ".join(self.metrics) or "it has none"
            raise WanlabError(f"the run has no metric {metric!r}", known) from None


@dataclass(frozen=True)
class Failure:
    """A run that did not end well, and why."""

    folder: Path
    parameters: Mapping[str, Value]
    seed: int
    what: str
    hint: str = ""
    console: str = ""
    """The last lines that the experiment printed."""

    def title(self, varied: Sequence[str]) -> str:
        """Which run of a sweep that varies these parameters."""
        return _title(self.parameters, self.seed, varied)

    def __str__(self) -> str:
        said = f"{self.what} ({self.hint})" if self.hint else self.what
        lines = self.console.rstrip().splitlines()[-MOST_CONSOLE_LINES:]
        return "\n".join([said, *(f"  {line}" for line in lines)])


def _title(parameters: Mapping[str, Value], seed: int, varied: Sequence[str]) -> str:
    return ", ".join([*(f"{name}={parameters[name]}" for name in varied), f"seed {seed}"])


def write_result(
    folder: Path,
    experiment: str,
    task: Task,
    metrics: Mapping[str, Metric],
    record: Record,
    origin: Mapping[str, Any],
) -> None:
    """The record, then what names it."""
    records.write(record, folder / RECORD)
    said = {
        "format": FORMAT,
        "experiment": experiment,
        "parameters": dict(task.parameters),
        "seed": task.seed,
        "key": task.key,
        # JSON has no NaN: a metric that could not be measured is null.
        "metrics": {
            name: [None if math.isnan(metric.value) else metric.value, metric.unit]
            for name, metric in metrics.items()
        },
        "warnings": list(record.provenance.warnings),
        "record": record.digest(),
        "origin": origin,
    }
    (folder / RESULT).write_text(in_order(said), encoding="utf-8")


def write_failure(folder: Path, task: Task, what: str, hint: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    said = {
        "format": FORMAT,
        "parameters": dict(task.parameters),
        "seed": task.seed,
        "key": task.key,
        "what": what,
        "hint": hint,
    }
    (folder / FAILURE).write_text(in_order(said), encoding="utf-8")


def in_order(data: Any) -> str:
    """JSON that keeps the order of parameters and metrics, which is that of the table's columns."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_result(folder: Path, *, is_cached: bool = False) -> Result | None:
    """None if there is none, or it is not whole."""
    said = _read(folder / RESULT)
    if said is None or not (folder / RECORD).is_dir():
        return None
    try:
        return Result(
            folder=folder,
            experiment=said["experiment"],
            parameters=said["parameters"],
            seed=said["seed"],
            key=said["key"],
            metrics={
                name: Metric(float("nan") if value is None else float(value), unit)
                for name, (value, unit) in said["metrics"].items()
            },
            warnings=tuple(said["warnings"]),
            is_cached=is_cached,
        )
    except (KeyError, TypeError, ValueError):
        return None


def read_failure(folder: Path) -> Failure | None:
    said = _read(folder / FAILURE)
    if said is None:
        return None
    try:
        return Failure(
            folder=folder,
            parameters=said["parameters"],
            seed=said["seed"],
            what=said["what"],
            hint=said["hint"],
            console=read_console(folder),
        )
    except (KeyError, TypeError):
        return None


def read_console(folder: Path) -> str:
    try:
        return (folder / CONSOLE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def check_record(folder: Path) -> None:
    """RecordError if the record in a run's folder is not as it was written."""
    said = _read(folder / RESULT)
    if said is None or records.read(folder / RECORD).digest() != said.get("record"):
        raise RecordError(f"{folder} is damaged")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) and said.get("format") == FORMAT else None
