"""`wanlab test`, with its options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completions
from .options import (
    Cpu,
    Jobs,
    Json,
    NoCache,
    Traps,
    WireOption,
    choice_option,
    folder_option,
    machine_choice,
    node_option,
    number_option,
    topology_option,
)

LIST = "list"


def run_test(
    name: Annotated[
        str,
        typer.Argument(
            help="rrul, tcp_nup, ping, ...; `list` prints all.",
            metavar="TEST",
            autocompletion=completions.standard_tests,
        ),
    ],
    queue: Annotated[
        str | None,
        typer.Option(
            help="Queue of the bottleneck, or several to compare: fifo,fq_codel (default: fifo).",
            metavar="QUEUES",
            autocompletion=completions.queues,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Rate of the bottleneck (default: 10Mbps).", metavar="RATES"),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            help="Delay of the bottleneck in each direction (default: 10ms).", metavar="DELAYS"
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            help="Size of the queue: 2bdp or 64KB (default: the queue's own).", metavar="SIZES"
        ),
    ] = None,
    congestion: Annotated[
        str | None,
        choice_option(
            "Congestion control, or several to compare: cubic,bbr (default: cubic).",
            "NAMES",
            "bbr",
            "cubic",
            "dctcp",
            "htcp",
            "reno",
            "vegas",
        ),
    ] = None,
    topo: Annotated[
        str | None, topology_option("Another topology: a file or a shape (default: a dumbbell).")
    ] = None,
    client: Annotated[str, node_option("The host to test from (default: the first).")] = "",
    server: Annotated[str, node_option("The host to test to (default: the last).")] = "",
    time: Annotated[int, typer.Option(min=1, help="Seconds of load.", metavar="SECONDS")] = 30,
    flows: Annotated[
        int, number_option("Number of flows, in tests with several flows.", min=1)
    ] = 4,
    seeds: Annotated[int, number_option("Repeat the test with this many seeds.", min=1)] = 1,
    wire: WireOption = "mtu",
    cpu: Cpu = None,
    traps: Traps = None,
    jobs: Jobs = None,
    output: Annotated[
        Path | None,
        folder_option("Keep the results in FOLDER (default: results/TEST).", "-o", "--output"),
    ] = None,
    ending: Annotated[
        str,
        typer.Option(
            "--format",
            help="Format of the figures: .png, .pdf or .svg.",
            metavar="ENDING",
            autocompletion=completions.one_of(".png", ".pdf", ".svg"),
        ),
    ] = ".png",
    flent: Annotated[
        bool,
        typer.Option("--flent", help="Also write each run as a data file of Flent, TEST.flent.gz."),
    ] = False,
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Run a ready-made test of a path under load, as Flent does.

    \b
    wanlab test list
    wanlab test rrul --queue fq_codel
    wanlab test rrul --queue fifo,fq_codel,cake --rate 20Mbps --delay 15ms --seeds 5
    wanlab test tcp_8up --topo network.mn --client h1 --server h4

    Pings run alone for 5 s, under load, and alone again. The command prints a table, and draws
    throughput and pings over time and the pings' distribution. Give an option several values to
    compare them. Runs are cached; see wanlab docs tests.

    Exit status: 0, or 1 if a run failed.
    """
    from . import standard_tests

    if name == LIST:
        raise typer.Exit(standard_tests.show_list())
    raise typer.Exit(
        standard_tests.run(
            name,
            topo=topo,
            values={
                "queue": queue,
                "rate": rate,
                "delay": delay,
                "buffer": buffer,
                "congestion": congestion,
                "cpu": cpu,
            },
            seconds=time,
            flows=flows,
            client=client,
            server=server,
            wire=wire,
            seeds=seeds,
            jobs=jobs,
            output=output,
            ending=ending,
            flent=flent,
            no_cache=no_cache,
            choice=machine_choice(traps=traps),
            as_json=as_json,
        )
    )
