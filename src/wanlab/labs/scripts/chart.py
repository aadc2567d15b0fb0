"""A chart of text: one quantity over time, in the characters of a terminal.

    2.5 MB |            ▂▅▇█▇▇
           |        ▃▆█████████
     0     |___▁▄██████████████
           0 s               12 s

Whatever has been measured is always in sight: when there are more readings than columns, a column
stands for several and shows their largest.
"""

from __future__ import annotations

from collections.abc import Sequence

EIGHTHS = " ▁▂▃▄▅▆▇█"
LABEL_WIDTH = 10


def draw(
    values: Sequence[float], *, seconds: float, width: int, height: int, unit: str = "B"
) -> list[str]:
    """`height` lines of the chart and one below with the times; the values lie evenly in `seconds`."""
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


def peaks(values: Sequence[float], most: int) -> list[float]:
    """At most so many values; each is the largest of as many neighbours."""
    size = max(1, -(-len(values) // most))
    return [max(values[start : start + size]) for start in range(0, len(values), size)]


def readable(value: float, unit: str) -> str:
    """With three digits that count: 2.62 MB."""
    for prefix in ("", "k", "M"):
        if abs(value) < 1000:
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return f"{value:.3g} G{unit}"


def _part(value: float, top: float, row: int, height: int) -> str:
    """What one value fills of one row, in eighths of it."""
    filled = round(value / top * height * 8) if top > 0 else 0
    if row == 0 and value > 0:
        filled = max(1, filled)  # a little is not nothing
    return EIGHTHS[min(8, max(0, filled - 8 * row))]
