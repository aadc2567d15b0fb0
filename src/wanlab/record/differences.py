"""Say in which parts two records differ, for people who expect them to be equal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from .provenance import Provenance
from .record import Record, Table

_MISSING = "missing"


def differences(first: Record, second: Record) -> list[str]:
    """Return a line about each part that differs; an empty list if the records are equal.

    The line about a table or an output names its first difference.
    """
    return [
        *_of_provenance(first.provenance, second.provenance),
        *_of_names("table", first.tables.keys() ^ second.tables.keys()),
        *(
            f"table {name}: {where}"
            for name in sorted(first.tables.keys() & second.tables.keys())
            if (where := _first_difference(first.tables[name], second.tables[name]))
        ),
        *_of_names("output", first.raw.keys() ^ second.raw.keys()),
        *(
            f"output {name}: {_first_line(first.raw[name], second.raw[name])}"
            for name in sorted(first.raw.keys() & second.raw.keys())
            if first.raw[name] != second.raw[name]
        ),
    ]


def _of_provenance(first: Provenance, second: Provenance) -> Iterator[str]:
    one, other = first.compared(), second.compared()
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield f"provenance, {name}: {one.get(name)!r} and {other.get(name)!r}"


def _of_names(part: str, names: set[str]) -> Iterator[str]:
    yield from (f"{part} {name}: only one record has it" for name in sorted(names))


def _first_difference(first: Table, second: Table) -> str:
    """Return the place and the values of the first row that differs; "" if the tables are equal."""
    if first.names != second.names:
        return f"columns {', '.join(first.names)} and {', '.join(second.names)}"
    for one, other in zip(first.columns, second.columns, strict=True):
        if one == other:
            continue
        if (one.unit, one.kind) != (other.unit, other.kind):
            return f"{one.name}: {one!r} and {other!r}"
        for row, values in enumerate(zip_longest(one.values, other.values, fillvalue=_MISSING)):
            if values[0] != values[1] and not all(value != value for value in values):
                return f"{one.name} in row {row}: {values[0]} and {values[1]}"
        return f"{one.name}: its bytes"
    return ""


def _first_line(first: bytes, second: bytes) -> str:
    lines = (data.decode(errors="replace").splitlines() for data in (first, second))
    for number, (one, other) in enumerate(zip_longest(*lines, fillvalue=_MISSING), start=1):
        if one != other:
            return f"line {number}: {one!r} and {other!r}"
    return "its bytes"
