"""Tables as text: with aligned columns for a terminal, or in Markdown.

aligned([("flow", "Mbit/s"), ("h1", "9.55")], "<>")      flow  Mbit/s
                                                         h1      9.55
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

GAP = "  "


def aligned(rows: Sequence[Sequence[str]], alignments: str) -> list[str]:
    """Return a line for each row; each column is as wide as its widest cell.

    `alignments` has "<" (left) or ">" (right) for each column. Lines do not end with spaces.
    ValueError if a row has another number of cells.
    """
    widths = column_widths(rows)
    return [aligned_row(row, widths, alignments) for row in rows]


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the number of characters of the widest cell of each column."""
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def aligned_row(cells: Sequence[str], widths: Sequence[int], alignments: str) -> str:
    """Return one row as a line. ValueError if the three do not have one length."""
    padded = (
        f"{cell:{alignment}{width}}"
        for cell, width, alignment in zip(cells, widths, alignments, strict=True)
    )
    return GAP.join(padded).rstrip()


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown. The cells must not contain a `|` that is not escaped."""
    yield markdown_row(heads)
    yield "|---" * len(heads) + "|"
    yield from map(markdown_row, rows)


def markdown_row(cells: Sequence[str]) -> str:
    """Return one row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"
