"""All verbs, with their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from wanlab.version import VERSION

app = typer.Typer(
    help="A network laboratory with its own Linux kernel and its own clock.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
lab = typer.Typer(help="The course's labs.", no_args_is_help=True)
kernel = typer.Typer(help="The kernel of the embedded machine.", no_args_is_help=True)
app.add_typer(lab, name="lab")
app.add_typer(kernel, name="kernel")

Seed = Annotated[int, typer.Option(min=0, help="Of all random numbers in the machine.")]
Clock = Annotated[str, typer.Option(help="virtual or real.", metavar="CLOCK")]
WireOption = Annotated[str, typer.Option(help="mtu or gso.", metavar="WIRE")]
Json = Annotated[bool, typer.Option("--json", help="Print the report for programs.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"wanlab {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Options for every verb."""


@lab.command("list")
def lab_list() -> None:
    """List the labs that are here."""
    from . import labs

    labs.show_list()


@lab.command("run")
def lab_run(
    number: Annotated[int, typer.Argument(help="The lab's number, 14 for example.")],
    seed: Seed = 1,
    clock: Clock = "virtual",
    results: Annotated[Path, typer.Option(help="Where the run's folder is made.")] = Path(
        "results"
    ),
    as_json: Json = False,
) -> None:
    """Perform all steps of a lab and compare with the manual.

    Exit status 1 if a number of the manual's was not reproduced.
    """
    from . import labs

    raise typer.Exit(labs.run(number, seed=seed, clock=clock, results=results, as_json=as_json))


@app.command("exec", context_settings={"allow_extra_args": False, "ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(help="The command, after --.", metavar="COMMAND")],
    topo: Annotated[
        Optional[str],  # noqa: UP045  (typer reads the annotation at run time)
        typer.Option(help="A topology file, or a shape: single,4 or tree,depth=2,fanout=2."),
    ] = None,
    node: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The host or router where it runs; otherwise the root namespace."),
    ] = None,
    clock: Clock = "virtual",
    wire: WireOption = "mtu",
    seed: Seed = 1,
) -> None:
    """Run a command as root in a fresh machine; the working folder is shared with it.

    Standard input, output, exit status and Ctrl-C are passed through. Options come before --.
    """
    from . import execute as verb

    raise typer.Exit(verb.run(command, topo=topo, node=node, clock=clock, wire=wire, seed=seed))


@app.command("plan")
def plan(
    file: Annotated[
        str, typer.Argument(help="A topology file (.mn, .yaml), or a shape: single,4.")
    ],
    wire: WireOption = "mtu",
) -> None:
    """Print a shell script that makes the topology by hand."""
    from . import topologies

    print(topologies.script(file, wire), end="")


@kernel.command(
    "build", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def kernel_build(context: typer.Context) -> None:
    """Build the kernel, unless it has been built."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["build", *context.args]))


@kernel.command("info", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def kernel_info(context: typer.Context) -> None:
    """Say what the kernel is made of and where it is."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["info", *context.args]))
