"""`wanlab plot`, with its options and help."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completions
from .options import file_option


def plot(
    records: Annotated[
        list[str],
        typer.Argument(
            help="Records, folders of records, or iperf3's JSON output.", metavar="RECORD"
        ),
    ],
    what: Annotated[
        str | None,
        typer.Option(
            help="Quantities to draw: rtt,queue or TABLE.COLUMN (default: the common ones; see "
            "--list).",
            metavar="NAMES",
            autocompletion=completions.quantities,
        ),
    ] = None,
    port: Annotated[
        list[str] | None,
        typer.Option(help="Draw only this port (repeatable).", metavar="PORT"),
    ] = None,
    cdf: Annotated[
        bool, typer.Option("--cdf", help="Draw distributions instead of time series.")
    ] = False,
    columns: Annotated[
        bool,
        typer.Option(
            "--columns", help="Draw the records side by side instead of in the same panels."
        ),
    ] = False,
    title: Annotated[
        str | None,
        typer.Option(help="Title of the figure.", metavar="TEXT"),
    ] = None,
    output: Annotated[
        str | None,
        file_option("Write to FILE (.pdf, .svg, .png; default: RECORD.pdf).", "-o", "--output"),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="List what the records contain and draw nothing.")
    ] = False,
) -> None:
    """Draw figures from records and from iperf3's JSON output.

    A record holds the measurements of a run. The figures show throughput, RTT, congestion
    window, queue, drops and more over time.

    \b
    wanlab plot results/lab14-seed1/1-bdp
    wanlab plot 1-bdp 10-bdp --what rtt,queue -o buffers.pdf
    wanlab plot 1-bdp --cdf --what rtt -o rtt.svg
    wanlab plot 1-bdp --list
    wanlab plot results/lab14-seed1 --columns
    wanlab plot out.json                           what iperf3 -c h2 -J printed

    Several records are drawn in the same panels, or side by side with --columns. A folder that
    contains just one record will do, too; with --columns, it may contain several. Warnings of a
    record are printed below the figure.
    """
    from . import figures

    if only_list:
        raise typer.Exit(figures.show_list(records))
    raise typer.Exit(
        figures.run(
            records,
            what=what,
            ports=port or (),
            as_distribution=cdf,
            columns=columns,
            title=title,
            output=output,
        )
    )
