"""Show a record in a notebook: its warnings, its origin, and its tables."""

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
"""Columns that identify the source of a row."""


def record_html(record: Record) -> Html:
    """Return a record as HTML, with tables and raw outputs folded."""
    origin = record.provenance
    warnings = "".join(f"<li>{as_html(text)}</li>" for text in origin.warnings)
    return together(
        heading(
            "record", f"{len(record.tables)} tables, digest {record.digest()[:DIGITS_OF_HASH]}"
        ),
        Html(f"<ul>{warnings}</ul>") if warnings else "",
        table(("origin", ""), _origin(origin)),
        *(
            folded(_title(name, measurements), table_html(measurements))
            for name, measurements in sorted(record.tables.items())
        ),
        *(
            folded(f"{name}: {len(output)} bytes", _raw(output))
            for name, output in sorted(record.raw.items())
        ),
        folded("topology", preformatted(origin.topology)) if origin.topology else "",
    )


def table_html(measurements: Table) -> Html:
    """Return a summary of each column (unit, range, curve), and the first rows."""
    source = _one_source(measurements)
    summaries = [
        (column.name, column.unit, *_range(column), _curve(source, column))
        for column in measurements.columns
    ]
    count = len(measurements)
    rows = [
        [_cell(column.values[row]) for column in measurements.columns]
        for row in range(min(count, MAX_ROWS))
    ]
    more = f"and {count - MAX_ROWS} more rows" if count > MAX_ROWS else ""
    return together(
        table(("column", "unit", "minimum", "mean", "maximum", "over time"), summaries),
        table(measurements.names, rows, wraps=False),
        more,
    )


def _origin(origin: Provenance) -> list[tuple[str, object]]:
    manifest = f" ({origin.kernel_manifest[:DIGITS_OF_HASH]})" if origin.kernel_manifest else ""
    rows: list[tuple[str, object]] = [
        ("network", f"seed {origin.seed}, {origin.clock} clock, {origin.wire} wire"),
        (
            "machine",
            f"{origin.machine}, Linux {origin.kernel_release}{manifest}, wanlab {origin.wanlab}"
            + (f", traps {origin.traps}" if origin.traps else ""),
        ),
    ]
    if origin.parameters:
        rows.append(("parameters", json.dumps(dict(origin.parameters), sort_keys=True)[1:-1]))
    if origin.commands:
        rows.append(("commands", preformatted("\n".join(origin.commands))))
    return rows


def _title(name: str, measurements: Table) -> str:
    return f"{name}: {len(measurements)} rows of {len(measurements.columns)} columns"


def _raw(output: bytes) -> Html:
    lines = output.decode(errors="replace").splitlines()
    rest = f"\n... and {len(lines) - MAX_ROWS} more lines" if len(lines) > MAX_ROWS else ""
    return preformatted("\n".join(lines[:MAX_ROWS]) + rest)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _range(column: Column) -> tuple[str, str, str]:
    values = column.values
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "if":
        distinct = list(dict.fromkeys(map(str, values)))
        return ", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else ""), "", ""
    known = values[np.isfinite(values)]
    if not len(known):
        return "", "", ""
    return _cell(known.min()), _cell(float(known.mean())), _cell(known.max())


def _one_source(measurements: Table) -> Table:
    """Return the rows of the source with the most rows; of several such sources, the last."""
    rows = measurements
    for name in LABELS:
        if name in rows and isinstance(rows[name], tuple) and len(rows):
            counts = Counter(rows[name])
            highest = max(counts.values())
            rows = rows.where(**{name: [key for key in counts if counts[key] == highest][-1]})
    return rows


def _curve(rows: Table, column: Column) -> Html:
    """Draw a column over time; `rows` are those of one source."""
    time = next((name for name in TIME_COLUMNS if name in rows), None)
    values = rows[column.name]
    is_curve = time is not None and column.name not in TIME_COLUMNS and len(rows) > 1
    if not is_curve or not isinstance(values, np.ndarray) or values.dtype.kind not in "if":
        return Html()
    assert time is not None
    times = np.asarray(rows[time], dtype=float) * SECONDS.get(rows.column(time).unit, 1.0)
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
