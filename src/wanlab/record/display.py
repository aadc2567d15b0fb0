"""A record as a notebook shows it: what to know before trusting it, where it comes from, its tables."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from wanlab.notebook import Html, as_html, folded, heading, preformatted, table, together

from .provenance import Provenance
from .record import SECONDS, TIME_COLUMNS, Column, Record, Table

MAX_ROWS = 8
CURVE_WIDTH, CURVE_HEIGHT, CURVE_POINTS = 160, 22, 160
DIGITS_OF_HASH = 12
LABELS = ("node", "device", "handle", "flow")
"""Columns that say what a row tells of."""


def record_html(record: Record) -> Html:
    origin = record.provenance
    warnings = "".join(f"<li>{as_html(text)}</li>" for text in origin.warnings)
    return together(
        heading(
            "record", f"{len(record.tables)} tables, digest {record.digest()[:DIGITS_OF_HASH]}"
        ),
        Html(f"<ul>{warnings}</ul>") if warnings else "",
        table(("origin", ""), _origin(origin)),
        *(folded(_title(name, it), table_html(it)) for name, it in sorted(record.tables.items())),
        *(folded(f"{name}: {len(it)} bytes", _raw(it)) for name, it in sorted(record.raw.items())),
        folded("topology", preformatted(origin.topology)) if origin.topology else "",
    )


def table_html(it: Table) -> Html:
    """Each column with its unit, range and course; then the first rows."""
    group = _one_thing(it)
    told = [
        (column.name, column.unit, *_range(column), _curve(group, column)) for column in it.columns
    ]
    rows = [
        [_cell(column.values[row]) for column in it.columns]
        for row in range(min(len(it), MAX_ROWS))
    ]
    more = f"and {len(it) - MAX_ROWS} more rows" if len(it) > MAX_ROWS else ""
    return together(
        table(("column", "unit", "least", "mean", "most", "over time"), told),
        table(it.names, rows, wraps=False),
        more,
    )


def _origin(origin: Provenance) -> list[tuple[str, object]]:
    manifest = f" ({origin.kernel_manifest[:DIGITS_OF_HASH]})" if origin.kernel_manifest else ""
    rows: list[tuple[str, object]] = [
        ("network", f"seed {origin.seed}, {origin.clock} clock, {origin.wire} wire"),
        (
            "machine",
            f"{origin.machine}, Linux {origin.kernel_release}{manifest}, wanlab {origin.wanlab}",
        ),
    ]
    if origin.parameters:
        rows.append(("parameters", json.dumps(dict(origin.parameters), sort_keys=True)[1:-1]))
    if origin.commands:
        rows.append(("commands", preformatted("\n".join(origin.commands))))
    return rows


def _title(name: str, it: Table) -> str:
    return f"{name}: {len(it)} rows of {len(it.columns)} columns"


def _raw(output: bytes) -> Html:
    lines = output.decode(errors="replace").splitlines()
    rest = f"\n... and {len(lines) - MAX_ROWS} more lines" if len(lines) > MAX_ROWS else ""
    return preformatted("\n".join(lines[:MAX_ROWS]) + rest)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _range(column: Column) -> tuple[str, str, str]:
    values = column.values
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "if":
        kinds = list(dict.fromkeys(map(str, values)))
        return ", ".join(kinds[:3]) + (", ..." if len(kinds) > 3 else ""), "", ""
    known = values[np.isfinite(values)]
    if not len(known):
        return "", "", ""
    return _cell(known.min()), _cell(float(known.mean())), _cell(known.max())


def _one_thing(it: Table) -> Table:
    """Rows of one of the things that a table tells of: of the one with the most rows, or the last."""
    for name in LABELS:
        if name in it and isinstance(it[name], tuple) and len(it):
            counts = Counter(it[name])
            most = max(counts.values())
            it = it.where(**{name: [value for value in counts if counts[value] == most][-1]})
    return it


def _curve(it: Table, column: Column) -> Html:
    """The course of a column, for one thing that its table tells of."""
    time = next((name for name in TIME_COLUMNS if name in it), None)
    values = it[column.name]
    is_curve = time is not None and column.name not in TIME_COLUMNS and len(it) > 1
    if not is_curve or not isinstance(values, np.ndarray) or values.dtype.kind not in "if":
        return Html()
    assert time is not None
    times = np.asarray(it[time], dtype=float) * SECONDS.get(it.column(time).unit, 1.0)
    known = np.isfinite(values)
    if known.sum() < 2 or np.any(np.diff(times) < 0) or np.ptp(values[known]) == 0:
        return Html()
    step = max(1, int(known.sum()) // CURVE_POINTS)
    x, y = times[known][::step], np.asarray(values[known][::step], dtype=float)
    across = (x - x[0]) / max(x[-1] - x[0], 1e-12) * CURVE_WIDTH
    up = CURVE_HEIGHT - 1 - (y - y.min()) / max(float(np.ptp(y)), 1e-12) * (CURVE_HEIGHT - 2)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    return Html(
        f'<svg width="{CURVE_WIDTH}" height="{CURVE_HEIGHT}">'
        f'<polyline points="{points}" fill="none" stroke="#2f81c9" stroke-width="1.2"/></svg>'
    )
