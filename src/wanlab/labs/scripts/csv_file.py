"""Write tables as CSV, with a line of column names and numbers without trailing zeros."""

from __future__ import annotations

from pathlib import Path

from wanlab.record import Table

DECIMALS = 6


def write(table: Table, path: Path, *, without: tuple[str, ...] = ()) -> None:
    """Write the columns of a table, except those named in `without`."""
    names = [name for name in table.names if name not in without]
    rows = zip(*(list(table[name]) for name in names), strict=True)
    lines = [",".join(names), *(",".join(as_text(value) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_text(value: object) -> str:
    """Return a value as other programs read it; NaN, an unknown value, is empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return "" if value != value else f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    return str(int(value))  # type: ignore[call-overload]
