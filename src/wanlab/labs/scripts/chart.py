"""A chart of one quantity over time, made of characters.

    2.5 MB |            ▂▅▇█▇▇
           |        ▃▆█████████
     0     |___▁▄██████████████
           0 s               12 s

All readings are shown: if there are more of them than columns, a column shows the largest of
several.
"""

from __future__ import annotations

from collections.abc import Sequence

EIGHTHS = " ▁▂▃▄▅▆▇█"
LABEL_WIDTH = 10


def draw(
    values: Sequence[float], *, seconds: float, width: int, height: int, unit: str = "B"
) -> list[str]:
    """Return `height` lines of the chart, and one with the times.

    The values are spread evenly over `seconds`.
    """
    columns = peaks(values, max(1, width - LABEL_WIDTH - 1))
    top = max(values, default=0.0)
    lines = []
    for row in range(height - 1, -1, -1):
        label = readable(top, unit) if row == height - 1 else "0" if row == 0 else ""
        bars = "".join(_part(value, top, row, height) for value in columns)
        lines.append(f"{label:>{LABEL_WIDTH}}|{bars}".rstrip())
    end = f"{seconds:.1f} s"
    gap = max(1, len(columns) - len("0 s") - len(end))
    lines.append(f"{'':{LABEL_WIDTH}} 0 s{'':{gap}}{end}")
    return lines


def peaks(values: Sequence[float], count: int) -> list[float]:
    """Return at most `count` values, each of which is the largest of its neighbours."""
    size = max(1, -(-len(values) // count))
    return [max(values[start : start + size]) for start in range(0, len(values), size)]


def readable(value: float, unit: str) -> str:
    """Format a value with three significant digits: 2.62 MB."""
    for prefix in ("", "k", "M"):
        if abs(value) < 1000:
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return f"{value:.3g} G{unit}"


def _part(value: float, top: float, row: int, height: int) -> str:
    """Return the character that shows how much of a row a value fills, in eighths."""
    filled = round(value / top * height * 8) if top > 0 else 0
    if row == 0 and value > 0:
        filled = max(1, filled)  # a small value must not look like 0
    return EIGHTHS[min(8, max(0, filled - 8 * row))]
