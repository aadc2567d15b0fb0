"""Tables of measurements, with units.

A record is a provenance, some tables, and the raw outputs of the tools from which tables were read:

    record ---- provenance     topology, seed, kernel, commands, versions, warnings
           |--- tables         "qdisc":  time_ns | device | kind | backlog_bytes | drops
           |                             ------------------------------------------------
           |                                   0 | s1-eth2|  tbf |             0 |     0
           |                            10000000 | s1-eth2|  tbf |        160000 |     3
           `--- raw            "ping.txt": b"PING 10.0.0.3 ..."

**Names carry units.** The unit of a column is the last word of its name that is a unit:
`rtt_us` is in us, `backlog_bytes` and `bytes_acked` in B, `rate_bps` in bit/s. A name without such
a word (`drops`, `retransmits`) is a plain count or a label. Where this rule is wrong for a column,
pass its unit to `Table.of`.

**Values** are 64-bit integers, 64-bit floats, booleans, or text. A missing value is NaN, so a column of
integers with missing values becomes one of floats.

**Equality** and the digest depend on content only: the same values give the same digest on every
computer and with every version of pyarrow.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wanlab.errors import RecordError, RequirementError, did_you_mean
from wanlab.record.provenance import Provenance

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Array = NDArray[Any]
Values = Array | tuple[str, ...]
Columns = Mapping[str, Iterable[object]]
"""Arrays or sequences, by the names of their columns."""

# The words in names of columns that are units, and the text of each unit on an axis.
UNITS = {
    "ns": "ns",
    "us": "us",
    "ms": "ms",
    "s": "s",
    "bytes": "B",
    "bps": "bit/s",
    "packets": "packets",
    "fraction": "1",
}
FORMAT = 1
FORMAT_KEY = b"wanlab.format"
UNIT_KEY = b"unit"
"""Metadata of a table and of its columns in a Parquet file."""

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
TIME_COLUMNS = ("time_ns", "time_s", "start_s")

# Names become file names, which must be valid on any file system.
_NAMES = {
    "table": re.compile(r"[a-z][a-z0-9_-]*"),
    "raw output": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
}


def unit_of(name: str) -> str:
    """Return the unit in the name of a column; "" if there is none."""
    return next((UNITS[word] for word in reversed(name.split("_")) if word in UNITS), "")


@dataclass(frozen=True)
class Series:
    """One quantity over time. The times never go back."""

    name: str
    unit: str
    times_s: NDArray[np.float64]
    values: Array

    def rate(self) -> "Series":
        """Return the rate of a counter between its readings: bytes become bit/s, counts become 1/s.

        Each value has the time of the end of its interval. Only the last of several readings at one
        time counts.
        """
        factor, unit = (8.0, "bit/s") if self.unit == "B" else (1.0, f"{self.unit or '1'}/s")
        last = np.append(np.diff(self.times_s) > 0, True)[: len(self.times_s)]
        times_s, values = self.times_s[last], self.values[last]
        growth = np.diff(values) * factor / np.diff(times_s)
        return Series(f"{self.name} rate", unit, times_s[1:], growth)


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Values of one kind with their name and unit. Arrays are read-only."""

    name: str
    unit: str
    values: Values

    @classmethod
    def of(cls, name: str, values: Iterable[object], unit: str | None = None) -> "Column":
        """Make a column of any array or sequence; None means a missing number."""
        return cls(name, unit_of(name) if unit is None else unit, _values(name, values))

    def __post_init__(self) -> None:
        if isinstance(self.values, np.ndarray):
            self.values.flags.writeable = False

    @property
    def kind(self) -> str:
        """One of int64, float64, bool, text."""
        return str(self.values.dtype) if isinstance(self.values, np.ndarray) else "text"

    def rows(self, keep: NDArray[np.bool_]) -> "Column":
        """Return the column with the rows for which `keep` is true."""
        values = self.values
        if isinstance(values, np.ndarray):
            return Column(self.name, self.unit, values[keep])
        return Column(self.name, self.unit, tuple(compress(values, keep)))

    def content(self) -> Iterator[bytes | memoryview]:
        """Yield the column as bytes, the same on every computer."""
        yield from (self.name.encode(), self.unit.encode(), self.kind.encode())
        if isinstance(self.values, np.ndarray):
            little = self.values.astype(self.values.dtype.newbyteorder("<"), copy=False)
            yield np.ascontiguousarray(little).view(np.uint8).data
        else:
            yield from (value.encode() for value in self.values)

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"Column({self.name}: {len(self.values)} values{unit}, {self.kind})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and list(self.content()) == list(other.content())

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, repr=False)
class Table:
    """Columns of equal length, in order; each name occurs once. A table does not change."""

    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.columns):
            raise RecordError(f"two columns of a table have one name: {', '.join(self.names)}")
        lengths = {column.name: len(column.values) for column in self.columns}
        if len(set(lengths.values())) > 1:
            raise RecordError(f"the columns of a table have different lengths: {lengths}")

    @classmethod
    def of(cls, columns: Columns, units: Mapping[str, str] | None = None) -> "Table":
        """Make a table of arrays or sequences by name; `units` overrides the units of names."""
        units = units or {}
        if unknown := sorted(units.keys() - columns.keys()):
            raise RecordError(f"there is a unit but no column for {', '.join(unknown)}")
        return cls(
            tuple(Column.of(name, values, units.get(name)) for name, values in columns.items())
        )

    @classmethod
    def from_rows(
        cls, rows: Sequence[Mapping[str, object]], units: Mapping[str, str] | None = None
    ) -> "Table":
        """Make a table of rows that all have the same keys; None means a missing number."""
        names = list(rows[0]) if rows else []
        for number, row in enumerate(rows):
            if row.keys() != rows[0].keys():
                keys = ", ".join(sorted(row.keys() ^ rows[0].keys()))
                raise RecordError(f"row {number} of a table does not fit the first one: {keys}")
        return cls.of({name: [row[name] for row in rows] for name in names}, units)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise RecordError(f"the table has no column {name!r}", did_you_mean(name, self.names))

    def __getitem__(self, name: str) -> Values:
        return self.column(name).values

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.names)})"

    def distinct(self, name: str) -> list[Any]:
        """Return the distinct values of a column, in order of first appearance."""
        return list(dict.fromkeys(_plain(self[name])))

    def where(self, **equal: object) -> "Table":
        """Return the rows in which each of these columns has this value."""
        keep = np.ones(len(self), dtype=bool)
        for name, wanted in equal.items():
            keep &= np.fromiter((value == wanted for value in _plain(self[name])), bool, len(self))
        return self.rows(keep)

    def rows(self, keep: NDArray[np.bool_]) -> "Table":
        """Return the rows for which `keep` is true."""
        return Table(tuple(column.rows(keep) for column in self.columns))

    def series(self, name: str, *, time: str | None = None) -> Series:
        """Return a column over time; `time` defaults to the first of time_ns, time_s, start_s."""
        if time is None:
            time = next((known for known in TIME_COLUMNS if known in self), TIME_COLUMNS[0])
        clock, column = self.column(time), self.column(name)
        for needed in (clock, column):
            if not isinstance(needed.values, np.ndarray):
                raise RecordError(f"the column {needed.name!r} holds text, not numbers")
        if clock.unit not in SECONDS:
            raise RecordError(f"the column {time!r} holds no times", "name one in ns, us, ms or s")
        times_s = np.asarray(clock.values, dtype=np.float64) * SECONDS[clock.unit]
        if np.any(np.diff(times_s) < 0):
            raise RecordError(
                f"the times in {time!r} are not in ascending order",
                "this table mixes several sources; choose one with where(...)",
            )
        return Series(name, column.unit, times_s, np.asarray(column.values))

    def to_arrow(self) -> "pyarrow.Table":
        """Return the table for pyarrow, with units and the format's version in its metadata."""
        import pyarrow

        kinds = {"int64": pyarrow.int64(), "float64": pyarrow.float64(), "bool": pyarrow.bool_()}
        fields = [
            pyarrow.field(
                column.name,
                kinds.get(column.kind, pyarrow.string()),
                nullable=False,
                metadata={UNIT_KEY: column.unit.encode()},
            )
            for column in self.columns
        ]
        schema = pyarrow.schema(fields, metadata={FORMAT_KEY: str(FORMAT).encode()})
        arrays = [
            pyarrow.array(column.values, type=field.type)
            for column, field in zip(self.columns, fields, strict=True)
        ]
        return pyarrow.Table.from_arrays(arrays, schema=schema)

    def to_polars(self) -> "polars.DataFrame":
        """Return a polars frame, which has no units: see `record[table].column(name).unit`."""
        with _optional("polars"):
            import polars

            frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a pandas frame; units are in `frame.attrs["units"]`."""
        with _optional("pandas"):
            import pandas

        frame = pandas.DataFrame({column.name: column.values for column in self.columns})
        frame.attrs["units"] = {column.name: column.unit for column in self.columns}
        return frame


@dataclass(frozen=True, repr=False)
class Record:
    """The measurements of one run, with their origin."""

    provenance: Provenance
    tables: Mapping[str, Table] = field(default_factory=dict)
    raw: Mapping[str, bytes] = field(default_factory=dict)
    """The unmodified outputs of tools, by file name."""

    def __post_init__(self) -> None:
        for name in self.tables:
            check_name("table", name)
        for name in self.raw:
            check_name("raw output", name)

    def __getitem__(self, name: str) -> Table:
        if name not in self.tables:
            raise RecordError(f"the record has no table {name!r}", did_you_mean(name, self.tables))
        return self.tables[name]

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def __repr__(self) -> str:
        """Return one line. (The content of a record would fill many pages.)"""
        tables = ", ".join(f"{name} {len(table)} rows" for name, table in self.tables.items())
        parts = [tables or "no tables"]
        if self.raw:
            size = sum(len(output) for output in self.raw.values())
            parts.append(f"{len(self.raw)} raw outputs of {size} bytes")
        if self.provenance.seed is not None:
            parts.append(f"seed {self.provenance.seed}")
        if self.provenance.warnings:
            parts.append(f"{len(self.provenance.warnings)} warnings")
        return f"Record({'; '.join(parts)})"

    def digest(self) -> str:
        """Return the SHA-256 of all content, in hexadecimal. Equal records have equal digests."""
        return content_digest(self.provenance.identity(), self.tables, self.raw)


def content_digest(provenance: str, tables: Mapping[str, Table], raw: Mapping[str, bytes]) -> str:
    """Return the digest of a record, given its provenance as text."""
    digest = hashlib.sha256()

    def add(part: bytes | memoryview) -> None:
        # The length in front keeps the boundary between two parts unambiguous.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)

    add(provenance.encode())
    for name, table in sorted(tables.items()):
        add(name.encode())
        add(len(table).to_bytes(8, "little"))
        for column in table.columns:
            for part in column.content():
                add(part)
    add(b"raw")
    for name, output in sorted(raw.items()):
        add(name.encode())
        add(output)
    return digest.hexdigest()


@contextmanager
def _optional(library: str) -> Iterator[None]:
    """Import an optional library; raise RequirementError if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise RequirementError(
            f"{library} is not installed", f"pip install 'wanlab[{library}]'"
        ) from error


def check_name(kind: str, name: str) -> None:
    """Raise RecordError if the name of a "table" or a "raw output" cannot be a file name."""
    if not _NAMES[kind].fullmatch(name):
        raise RecordError(
            f"{name!r} cannot be the name of a {kind}",
            f"it becomes the name of a file and must match {_NAMES[kind].pattern}",
        )


def _values(name: str, values: Iterable[object]) -> Values:
    """Convert values to one of the four kinds that a column may have."""
    array: Array
    if isinstance(values, np.ndarray):
        array = values
    else:
        listed = list(values)
        texts = [value for value in listed if isinstance(value, str)]
        if texts and len(texts) == len(listed):
            return tuple(texts)
        if texts:
            raise RecordError(f"the column {name!r} mixes text with other values")
        array = np.array([np.nan if value is None else value for value in listed])
    match array.dtype.kind:
        case "b":
            return array.astype(np.bool_)
        case "i":
            return array.astype(np.int64)
        case "f":
            return array.astype(np.float64)
        case "U":
            return tuple(array.tolist())
    raise RecordError(
        f"the column {name!r} cannot be kept: its values are of type {array.dtype}",
        "a column holds text, booleans, floats, or integers of at most 64 bits with sign",
    )


def _plain(values: Values) -> Sequence[Any]:
    """Return values as Python objects, which compare and hash by value."""
    return values.tolist() if isinstance(values, np.ndarray) else values
