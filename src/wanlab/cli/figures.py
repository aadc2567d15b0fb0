"""`wanlab plot`: draws figures of records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wanlab import Record, plot, record
from wanlab.errors import WanlabError

from . import drawables

TIMES = (*record.TIME_COLUMNS, "end_s")


def run(
    folders: Sequence[str],
    *,
    what: str | None,
    ports: Sequence[str],
    as_distribution: bool,
    columns: bool,
    title: str | None,
    output: str | None,
) -> int:
    """Draw records, or the JSON of iperf3, to a file and print its name."""
    if columns and as_distribution:
        raise WanlabError("--columns and --cdf cannot be combined", "leave one of them out")
    runs = drawables.read(folders, all_inside=columns)
    names = None if what is None else [word.strip() for word in what.split(",") if word.strip()]
    if names == []:
        raise WanlabError("--what needs at least one quantity", "for example: --what rtt,queue")
    path = Path(output or f"{'-'.join(runs)}.pdf")
    if columns:
        rows = plot.quantities.columns(runs, names, ports=ports)
        figure = plot.comparison(rows, title=title or "")
    else:
        panels = plot.quantities.panels(runs, names, ports=ports)
        draw = plot.distribution if as_distribution else plot.timeline
        figure = draw(panels, title=title if title is not None else " and ".join(runs))
    plot.save(figure, path)
    print(path)
    return 0


def show_list(folders: Sequence[str]) -> int:
    """Print what the records contain."""
    for name, run in drawables.read(folders, all_inside=True).items():
        print(name)
        for quantity in plot.quantities.available(run):
            print(f"  {quantity:12} {plot.quantities.QUANTITIES[quantity].title}")
        for table in sorted(run.tables):
            print(f"  {table}.COLUMN: {' '.join(_numeric_columns(run, table))}")
        for warning in run.provenance.warnings:
            print(f"  Warning: {warning}")
    return 0


def _numeric_columns(run: Record, table: str) -> list[str]:
    """Return the columns that can be drawn."""
    columns = run[table].columns
    return [c.name for c in columns if c.kind != "text" and c.name not in TIMES]
