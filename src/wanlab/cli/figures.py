"""`wanlab plot`: figures of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wanlab import Record, plot, record
from wanlab.errors import WanlabError

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
    """Draws into a file and prints its name."""
    if columns and as_distribution:
        raise WanlabError("--columns and --cdf do not go together", "leave one of them out")
    runs = read(folders)
    wanted = None if what is None else [word.strip() for word in what.split(",") if word.strip()]
    if wanted == []:
        raise WanlabError("--what names nothing", "--what rtt,queue for example")
    path = Path(output or f"{'-'.join(runs)}.pdf")
    if columns:
        wanted = wanted or in_all(runs)
        rows = {
            name: plot.quantities.panels({name: one}, wanted, ports=ports)
            for name, one in runs.items()
        }
        figure = plot.comparison(rows, title=title or "")
    else:
        panels = plot.quantities.panels(runs, wanted, ports=ports)
        draw = plot.distribution if as_distribution else plot.timeline
        figure = draw(panels, title=title if title is not None else " and ".join(runs))
    plot.save(figure, path)
    print(path)
    return 0


def in_all(runs: Mapping[str, Record]) -> list[str] | None:
    """What is usually drawn and all runs have: columns of a figure have the same rows."""
    first, *others = (plot.quantities.usual({name: one}) for name, one in runs.items())
    common = [quantity.name for quantity in first if all(quantity in other for other in others)]
    return common or None


def show_list(folders: Sequence[str]) -> int:
    """What the records have."""
    for name, one in read(folders).items():
        print(name)
        there = plot.quantities.available(one)
        for quantity in there:
            print(f"  {quantity:12} {plot.quantities.QUANTITIES[quantity].title}")
        for table in sorted(one.tables):
            print(f"  {table}.COLUMN: {' '.join(_numbers(one, table))}")
        for warning in one.provenance.warnings:
            print(f"  Warning: {warning}")
    return 0


def _numbers(one: Record, table: str) -> list[str]:
    """Its columns that can be drawn."""
    columns = one[table].columns
    return [c.name for c in columns if c.kind != "text" and c.name not in TIMES]


def read(folders: Sequence[str]) -> dict[str, Record]:
    """The records by their folders' names; by as much of the path as tells them apart."""
    paths = [Path(folder).resolve() for folder in folders]
    if len(set(paths)) < len(paths):
        raise WanlabError("one record is named twice")
    depth = 1
    while len({path.parts[-depth:] for path in paths}) < len(paths):
        depth += 1
    return {
        "-".join(path.parts[-depth:]): record.read(folder)
        for folder, path in zip(folders, paths, strict=True)
    }
