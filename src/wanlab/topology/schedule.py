"""Conditions that change over time: a satellite hands over, a wireless link fades.

    schedule=[{"at": "15s", "delay": "45ms"}, {"at": "15.1s", "loss": "0%"}]
    schedule="handover.csv"

A change names its new conditions (rate, delay, jitter, loss); the others stay as they are. In a CSV
file the first line names the columns, and an empty field means no change:

    at,rate,delay,loss
    0s,100Mbps,25ms,0%
    15s,,,100%
    15.1s,80Mbps,32ms,0%

A YAML file has a list of changes, as a topology does. With `schedule_repeat` the schedule repeats,
each time from the link's initial conditions.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from wanlab.errors import WanlabError, did_you_mean
from wanlab.input_file import read_input
from wanlab.units import (
    format_fraction,
    format_rate,
    format_time,
    parse_fraction,
    parse_rate,
    parse_time,
)


class ChangedConditions(TypedDict, total=False):
    """Fields of `Conditions` that a schedule can change."""

    rate_bps: int
    delay_ns: int
    jitter_ns: int
    loss_fraction: float


@dataclass(frozen=True, kw_only=True)
class Change:
    """The new conditions from one instant on; None leaves a field unchanged."""

    at_ns: int
    rate_bps: int | None = None
    delay_ns: int | None = None
    jitter_ns: int | None = None
    loss_fraction: float | None = None

    def values(self) -> ChangedConditions:
        """Return the fields of `Conditions` that change, with their new values."""
        values: ChangedConditions = {}
        if self.rate_bps is not None:
            values["rate_bps"] = self.rate_bps
        if self.delay_ns is not None:
            values["delay_ns"] = self.delay_ns
        if self.jitter_ns is not None:
            values["jitter_ns"] = self.jitter_ns
        if self.loss_fraction is not None:
            values["loss_fraction"] = self.loss_fraction
        return values


@dataclass(frozen=True)
class Schedule:
    """Changes, each later than the one before. Schedules are compared without their file names."""

    changes: tuple[Change, ...]
    file: str = field(default="", compare=False)


ScheduleWords: TypeAlias = str | Path | Iterable[Mapping[str, object]] | Schedule

_WORDS: Mapping[str, tuple[str, Callable[[Any], object], Callable[[Any], str]]] = {
    "at": ("at_ns", parse_time, format_time),
    "rate": ("rate_bps", parse_rate, format_rate),
    "delay": ("delay_ns", parse_time, format_time),
    "jitter": ("jitter_ns", parse_time, format_time),
    "loss": ("loss_fraction", parse_fraction, format_fraction),
}


def read_schedule(words: object) -> Schedule:
    """Return the schedule of a file's name, a list of changes, or a schedule.

    Raise WanlabError, with the position of the change, if one is wrong.
    """
    if isinstance(words, Schedule):
        return words
    if isinstance(words, str | Path) and str(words):
        path = Path(words)
        rows, name = _rows_of(path), str(path)
        return replace(_schedule(rows, name), file=str(words))
    if not isinstance(words, list | tuple):
        raise WanlabError(f"{words!r} is not a schedule", 'as in [{"at": "15s", "delay": "45ms"}]')
    numbered = ((f"change {number}", change) for number, change in enumerate(words, 1))
    return _schedule(numbered, "the schedule")


def schedule_words(schedule: Schedule | None) -> object:
    """Return the file's name, or the changes as words."""
    assert schedule is not None, "a schedule of None is the default, which is not written"
    return schedule.file or [
        {
            word: write(value)
            for word, (name, _, write) in _WORDS.items()
            if (value := getattr(change, name)) is not None
        }
        for change in schedule.changes
    ]


def _schedule(rows: Iterable[tuple[str, object]], name: str) -> Schedule:
    changes: list[Change] = []
    for position, row in rows:
        try:
            change = row if isinstance(row, Change) else _change(row)
        except WanlabError as error:
            raise WanlabError(f"{name}, {position}: {error.what}", error.hint) from None
        if changes and change.at_ns <= changes[-1].at_ns:
            raise WanlabError(
                f"{name}, {position}: {format_time(change.at_ns)} is not after "
                f"{format_time(changes[-1].at_ns)}",
                "order changes by time, and write conditions that change together as one change",
            )
        changes.append(change)
    if not changes:
        raise WanlabError(f"{name} has no changes")
    return Schedule(tuple(changes))


def _change(row: object) -> Change:
    if not isinstance(row, Mapping):
        raise WanlabError(f"{row!r} is not a change", 'as in {"at": "15s", "delay": "45ms"}')
    values: dict[str, Any] = {}
    for word, value in row.items():
        if word not in _WORDS:
            raise WanlabError(f'a schedule cannot change "{word}"', did_you_mean(str(word), _WORDS))
        name, parse, _ = _WORDS[word]
        values[name] = parse(value)
    if "at_ns" not in values:
        raise WanlabError('the change has no "at"', 'as in {"at": "15s", "delay": "45ms"}')
    if len(values) == 1:
        raise WanlabError(
            "the change sets no condition", f"name one of {', '.join(list(_WORDS)[1:])}"
        )
    return Change(**values)


def _rows_of(path: Path) -> Iterable[tuple[str, object]]:
    """Yield each row of a file with its position."""
    try:
        text = read_input(path, "the schedule").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WanlabError(f"{path} is not UTF-8 text", "is it a schedule?") from None
    if path.suffix.lower() in (".yaml", ".yml"):
        return _rows_of_yaml(text, str(path))
    return _rows_of_csv(text, str(path))


def _rows_of_csv(text: str, name: str) -> Iterable[tuple[str, object]]:
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    table = [_cells_of(line, f"{name}, line {number}") for number, line in lines]
    if not table or "at" not in table[0]:
        raise WanlabError(
            f'{name}: the first line has no column "at"', 'as in "at,rate,delay,loss"'
        )
    columns = table[0]
    for (number, _), row in zip(lines[1:], table[1:], strict=True):
        if len(row) != len(columns):
            raise WanlabError(f"{name}, line {number}: {len(row)} fields instead of {len(columns)}")
        cells = zip(columns, row, strict=True)
        yield f"line {number}", {column: cell for column, cell in cells if cell}


def _cells_of(line: str, position: str) -> list[str]:
    """Split a line of a CSV file; no change needs more than one line."""
    try:
        (row,) = csv.reader([line], strict=True)
    except csv.Error as error:
        raise WanlabError(f"{position}: {error}", "is a quotation mark missing?") from None
    return [cell.strip() for cell in row]


def _rows_of_yaml(text: str, name: str) -> Iterable[tuple[str, object]]:
    import yaml  # only YAML files pay for the import

    try:
        document = yaml.compose(text, Loader=yaml.BaseLoader)
        data = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise WanlabError(f"{name} is not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(document, yaml.SequenceNode):
        raise WanlabError(f"{name} is not a list of changes", 'as in "- {at: 15s, delay: 45ms}"')
    for node, row in zip(document.value, data, strict=True):
        yield f"line {node.start_mark.line + 1}", row
