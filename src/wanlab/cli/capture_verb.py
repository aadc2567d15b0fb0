"""`wanlab capture`, with its options and help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from . import completions
from .options import (
    Cpu,
    OptionalSeed,
    WireOption,
    file_option,
    machine_option,
    node_option,
    number_option,
    topology_option,
)
from .usage import PlainUsage

COMMAND = "wanlab.command"
SEPARATOR = "--"


class WithCommand(PlainUsage):
    """A command whose arguments after -- are another command, kept apart from its own arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before --, and put the others into the context."""
        end = args.index(SEPARATOR) if SEPARATOR in args else len(args)
        ctx.meta[COMMAND] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what stands behind "Usage:", with the other command."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND]"]


def capture(
    context: typer.Context,
    expression: Annotated[
        list[str] | None,
        typer.Argument(
            help="A capture filter in tcpdump's syntax, such as: tcp port 5202.", metavar="FILTER"
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "-i",
            "--at",
            help="A port (s1-eth2), a node (h1: all its ports) or a link (s1-s2: the port of s1); "
            "repeatable.",
            metavar="PLACE",
            autocompletion=completions.ports,
        ),
    ] = None,
    topo: Annotated[
        str | None,
        topology_option(
            "A topology file, or a shape such as single,4 (default: the network in which this runs)."
        ),
    ] = None,
    node: Annotated[
        str | None, node_option("The node to run the command on (default: the root namespace).")
    ] = None,
    write: Annotated[
        str | None,
        file_option(
            "Write pcapng to FILE; - is standard output (default: print packets as text).",
            "-w",
            "--write",
        ),
    ] = None,
    snaplen: Annotated[
        int,
        typer.Option(
            "-s", "--snaplen", help="Keep at most this many bytes of each packet.", metavar="BYTES"
        ),
    ] = 262_144,
    count: Annotated[
        int | None,
        number_option(
            "Keep at most this many packets; inside a network, stop after them.",
            "-c",
            "--count",
            min=1,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Inside a network: end after this time, such as 10s.", metavar="TIME"),
    ] = None,
    pace: Annotated[
        str,
        machine_option("pace", has_default=True),
    ] = "fast",
    wire: WireOption = "mtu",
    cpu: Cpu = None,
    seed: OptionalSeed = None,
    traps: Annotated[str | None, machine_option("traps")] = None,
) -> None:
    """Capture packets at ports of a network.

    \b
    wanlab capture --topo single,2 --at s1-eth1 --node h1 -- ping -c 3 h2
    wanlab capture --topo net.mn --at s1-s2 -w out.pcapng -s 96 tcp -- bash test.sh
    wanlab capture --topo net.mn --at s1-s2 -w - -- bash test.sh | wireshark -k -i -
    wanlab capture --at h1 -w out.pcapng           in a terminal inside a network, until Ctrl-C

    If packets go to standard output, the output of the command goes to standard error. Times are
    those of the machine's clock. To watch a running network live, capture to a file in a terminal
    of the network. In a terminal of your computer, run `tail -c +1 -f out.pcapng | wireshark -k -i -`.

    Exit status: that of the command.
    """
    from . import capture as command_module

    raise typer.Exit(
        command_module.run(
            context.meta[COMMAND],
            topo=topo,
            places=at or [],
            node=node,
            write=write,
            snaplen=snaplen,
            count=count,
            expression=" ".join(expression or []),
            time=time,
            pace=pace,
            network_options={"wire": wire, "cpu": cpu, "seed": seed, "traps": traps},
        )
    )
