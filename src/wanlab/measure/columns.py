"""Turn many samples into tables: rows of values, and C structures, as columns.

A run of a minute has tens of thousands of rows. Structures are therefore kept as bytes, and all of one
kind are parsed at once with numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanlab.netlink.structure import Structure
from wanlab.record import Table

Rows = list[tuple[object, ...]]
Array = NDArray[Any]
Columns = dict[str, Iterable[object]]

NUMPY_TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "s32": "<i4", "s64": "<i8"}

# Conversions of the values of a member, by the word after its type.
SCALES: dict[str, Callable[[Array], Array]] = {
    "flag": lambda values: values != 0,
    "octets": lambda values: values.astype(np.int64) * 8,  # a rate in bytes, in bit
}


def columns_of(rows: Rows, names: Sequence[str]) -> Columns:
    """Return rows of values as columns by name."""
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}


def scaled(values: Array, scale: str) -> Array:
    """Convert to 64-bit numbers (or booleans) in the unit of the column's name."""
    if scale in SCALES:
        return SCALES[scale](values)
    if scale.startswith("2^"):
        return values.astype(np.float64) / 2.0 ** int(scale[2:])
    if scale:
        return values.astype(np.int64) * int(scale)
    return values.astype(np.int64)


def columns_of_structures(structure: Structure, parts: Sequence[bytes]) -> dict[str, Array]:
    """Return one array for each member, from the bytes of many structures of one kind."""
    size = structure.size
    structure.check(min(parts, key=len, default=bytes(size)))
    dtype = np.dtype([(name, NUMPY_TYPES[kind]) for name, kind in structure.fields])
    values = np.frombuffer(b"".join(part[:size] for part in parts), dtype=dtype)
    return {name: scaled(values[name], scale) for name, scale in structure.members}


@dataclass
class Structures:
    """Structures of one kind, each with the values that identify it (time, device, ...)."""

    structure: Structure
    rows: Rows = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)

    def add(self, row: tuple[object, ...], part: bytes) -> None:
        self.rows.append(row)
        self.parts.append(part)

    def table(
        self, names: Sequence[str], more: Mapping[str, Iterable[object]] | None = None
    ) -> Table:
        """Return a table of the identifying values, under these names, and the members."""
        columns: Columns = {
            **columns_of(self.rows, names),
            **columns_of_structures(self.structure, self.parts),
        }
        return Table.of(columns | dict(more or {}))


def together(first: Table, second: Table) -> Table:
    """Merge two tables with the same columns, in order of time."""
    order = np.argsort(np.concatenate([first["time_ns"], second["time_ns"]]), kind="stable")
    columns: Columns = {}
    for name in first.names:
        left, right = first[name], second[name]
        if isinstance(left, tuple) or isinstance(right, tuple):
            both = [*left, *right]
            columns[name] = [both[index] for index in order.tolist()]
        else:
            columns[name] = np.concatenate([left, right])[order]
    return Table.of(columns, {column.name: column.unit for column in first.columns})
