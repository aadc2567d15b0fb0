"""Conditions that change over time: a satellite hands over, a wireless link fades.

    schedule=[{"at": "15s", "delay": "45ms"}, {"at": "15.1s", "loss": "0%"}]
    schedule="handover.csv"

A change names its new conditions (rate, delay, jitter, loss); the others stay as they are. In a CSV
file the first line names the columns, and an empty field means no change:

    at,rate,delay,loss
    0s,100Mbps,25ms,0%
    15s,,,100%
    15.1s,80Mbps,32ms,0%

A file of two columns of numbers, with or without a line above them, is a trace of rates, such as those
of the FCC, Norway and Starlink data sets: the time in seconds, and Mbit/s unless that line names kbit/s
or bit/s. Times since 1970 count from the first. Where the rate is 0, the link passes 1 kbit/s.

A capture (pcap, pcapng) of a link that was busy is a schedule of rates, too: those of its frames in each
CAPTURE_INTERVAL_NS since the first one.

A YAML file has a list of changes, as a topology does. With `schedule_repeat` the schedule repeats,
each time from the link's initial conditions.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from wanlab.capture_file import ETHERNET_BYTES, IpPacket, is_capture
from wanlab.errors import InputError, WanlabError, did_you_mean
from wanlab.input_file import read_input
from wanlab.topology.large_inputs import content_of
from wanlab.topology.link_trace import MAX_FILE_BYTES, one_direction
from wanlab.topology.settings import SETTINGS, TIME, Setting
from wanlab.units import format_time

EPOCH_S = 1e8
"""Later times count from 1970."""
MIN_RATE_BPS = 1_000
CAPTURE_INTERVAL_NS = 100_000_000
_COLUMN_GAP = re.compile(r"\s*[,;]\s*|\s+")


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

WORDS: Mapping[str, Setting] = {
    "at": Setting("at_ns", TIME, "when the conditions change", "15s"),
    **{word: setting for word, setting in SETTINGS.items() if setting.varies},
}


def read_schedule(words: object) -> Schedule:
    """Return the schedule of a file's name, a list of changes, or a schedule.

    Raise WanlabError, with the position of the change, if one is wrong.
    """
    if isinstance(words, Schedule):
        return words
    if isinstance(words, str | Path) and str(words):
        name = str(words)
        return content_of(
            f"schedule {name}",
            lambda: replace(_schedule(_rows_of(Path(name)), name), file=name),
        )
    if not isinstance(words, list | tuple):
        raise WanlabError(f"{words!r} is not a schedule", 'as in [{"at": "15s", "delay": "45ms"}]')
    numbered = ((f"change {number}", change) for number, change in enumerate(words, 1))
    return _schedule(numbered, "the schedule")


def schedule_words(schedule: Schedule | None) -> object:
    """Return the file's name, or the changes as words."""
    assert schedule is not None, "a schedule of None is the default, which is not written"
    return schedule.file or [
        {
            word: setting.kind.write(value)
            for word, setting in WORDS.items()
            if (value := getattr(change, setting.field)) is not None
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
        if word not in WORDS:
            raise WanlabError(f'a schedule cannot change "{word}"', did_you_mean(str(word), WORDS))
        values[WORDS[word].field] = WORDS[word].kind.parse(value)
    if "at_ns" not in values:
        raise WanlabError('the change has no "at"', 'as in {"at": "15s", "delay": "45ms"}')
    if len(values) == 1:
        raise WanlabError(
            "the change sets no condition", f"name one of {', '.join(list(WORDS)[1:])}"
        )
    return Change(**values)


def _rows_of(path: Path) -> Iterable[tuple[str, object]]:
    """Yield each row of a file with its position."""
    data = read_input(path, "the schedule", max_bytes=MAX_FILE_BYTES)
    if is_capture(data):
        return _rows_of_capture(one_direction(data, str(path)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WanlabError(f"{path} is not UTF-8 text", "is it a schedule?") from None
    if path.suffix.lower() in (".yaml", ".yml"):
        return _rows_of_yaml(text, str(path))
    return _rows_of_csv(text, str(path))


def _rows_of_capture(packets: Sequence[IpPacket]) -> Iterator[tuple[str, Change]]:
    """Yield the rate of each interval with its position, without those that do not change it."""
    bits: dict[int, int] = {}
    for packet in packets:
        interval = packet.time_ns // CAPTURE_INTERVAL_NS
        bits[interval] = bits.get(interval, 0) + 8 * (packet.length + ETHERNET_BYTES)
    last_bps = None
    for interval in range(max(bits) + 1):
        rate_bps = max(bits.get(interval, 0) * 10**9 // CAPTURE_INTERVAL_NS, MIN_RATE_BPS)
        if rate_bps != last_bps:
            at_ns = interval * CAPTURE_INTERVAL_NS
            yield format_time(at_ns), Change(at_ns=at_ns, rate_bps=rate_bps)
        last_bps = rate_bps


def _rows_of_rates(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[str, Change]] | None:
    """Return the changes of a file with times in s and rates in two columns; None if it is none."""
    table = [(number, _COLUMN_GAP.split(line.strip())) for number, line in lines]
    heading = [] if not table or _numbers(table[0][1]) else table[0][1]
    rows = [(number, _numbers(cells)) for number, cells in (table[1:] if heading else table)]
    if "at" in heading or not rows or not all(len(numbers) == 2 for _, numbers in rows):
        return None
    (first_s, _) = rows[0][1]
    start_s = first_s if first_s > EPOCH_S else 0.0
    unit_bps = _unit_of(" ".join(heading).lower())
    return (
        (
            f"line {number}",
            Change(
                at_ns=round((time_s - start_s) * 1e9),
                rate_bps=max(round(rate * unit_bps), MIN_RATE_BPS),
            ),
        )
        for number, (time_s, rate) in rows
    )


def _unit_of(heading: str) -> int:
    if re.search(r"\bk(bit|bps|b/s)|_kb|kilobit", heading):
        return 1_000
    return 1 if re.search(r"(?<![a-z])(bps|bits?/s|bit_per|bits_per)", heading) else 1_000_000


def _numbers(cells: Sequence[str]) -> list[float]:
    """Return the numbers in the cells; [] if one of them is none, or negative."""
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return []
    return numbers if all(0 <= number < 1e15 for number in numbers) else []


def _rows_of_csv(text: str, name: str) -> Iterable[tuple[str, object]]:
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if (rates := _rows_of_rates(lines)) is not None:
        yield from rates
        return
    table = [_cells_of(line, f"{name}, line {number}") for number, line in lines]
    if not table or "at" not in table[0]:
        raise WanlabError(
            f'{name}: the first line has no column "at"',
            'as in "at,rate,delay,loss", or write times in s and Mbit/s in two columns',
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
    from wanlab.yaml_text import parse_yaml  # only YAML files pay for the import

    document = parse_yaml(text, name)
    if document.problems:
        raise InputError(document.problems, name)
    if not isinstance(document.data, list):
        raise WanlabError(f"{name} is not a list of changes", 'as in "- {at: 15s, delay: 45ms}"')
    for index, row in enumerate(document.data):
        yield f"line {document.lines.get(f'[{index}]', 1)}", row
