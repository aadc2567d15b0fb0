"""All verbs, with their options and help. Nothing else is imported until a verb runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from wanlab import __version__

# \b keeps the lines of a block as they are.
app = typer.Typer(
    help="""A network laboratory with its own Linux kernel and its own clock.

    \b
    wanlab kernel build                            once: the kernel that everything runs in
    wanlab lab run 14                              a lab of the course
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab plan topology.mn                        the same network, as a shell script
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
lab = typer.Typer(help="The course's labs.", no_args_is_help=True, rich_markup_mode=None)
kernel = typer.Typer(
    help="The kernel of the embedded machine.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(lab, name="lab")
app.add_typer(kernel, name="kernel")

Seed = Annotated[
    int, typer.Option(min=0, help="Of all random numbers in the machine.", metavar="NUMBER")
]
Clock = Annotated[
    str,
    typer.Option(
        help="virtual (as fast as it can be computed; equal runs are equal) or real.",
        metavar="CLOCK",
    ),
]
WireOption = Annotated[
    str,
    typer.Option(
        help="mtu (as a real wire) or gso (packets up to 64 KB, as plain veth; faster).",
        metavar="WIRE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report for programs.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"wanlab {__version__}")
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
    number: Annotated[
        int, typer.Argument(help="The lab's number, 14 for example.", metavar="NUMBER")
    ],
    seed: Seed = 1,
    clock: Clock = "virtual",
    results: Annotated[
        Path, typer.Option(help="Where the run's folder is made.", metavar="FOLDER")
    ] = Path("results"),
    as_json: Json = False,
) -> None:
    """Perform all steps of a lab and compare with the manual.

    \b
    wanlab lab run 14
    wanlab lab run 14 --seed 2 --json > report.json

    Records, figures, the table and a transcript are kept in a folder that is named by the run. What a
    run that is interrupted has measured until then is in one that ends in .partial. Progress is told
    on standard error.

    Exit status: 0, or 1 if a number of the manual's was not reproduced.
    """
    from . import labs

    raise typer.Exit(labs.run(number, seed=seed, clock=clock, results=results, as_json=as_json))


@app.command("exec", context_settings={"allow_extra_args": False, "ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(help="The command, after --.", metavar="COMMAND")],
    topo: Annotated[
        Optional[str],  # noqa: UP045  (typer reads the annotation at run time)
        typer.Option(
            help="A topology file, or a shape: single,4 or tree,depth=2,fanout=2.",
            metavar="TOPOLOGY",
        ),
    ] = None,
    node: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="The host or router where it runs; otherwise where the switches are.",
            metavar="NODE",
        ),
    ] = None,
    clock: Clock = "virtual",
    wire: WireOption = "mtu",
    seed: Seed = 1,
) -> None:
    """Run a command as root in a fresh machine, in your working folder.

    \b
    wanlab exec -- uname -a
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab exec --topo topology.mn -- bash
    wanlab exec --seed 7 -- python3 simulate.py < in.txt > out.txt

    Standard input and output, exit status and Ctrl-C are passed through; on a terminal the command has
    one, too. The working folder is shared; whatever else is written is gone with the machine. Options
    come before --.

    Time in the machine passes as fast as it can be computed: `sleep 1000` returns at once. On a
    terminal it is never faster than the real clock from your first key on.

    Exit status: the command's; 128 + N if signal N ended it; 127 if there is no such command, 126 if it
    may not be executed; 1 if there is no machine. A second Ctrl-C soon after the first ends the machine.
    """
    from . import execute as verb

    raise typer.Exit(verb.run(command, topo=topo, node=node, clock=clock, wire=wire, seed=seed))


@app.command("plan")
def plan(
    topology: Annotated[
        str,
        typer.Argument(
            help="A topology file (.mn, .json, .yaml), or a shape: single,4.", metavar="TOPOLOGY"
        ),
    ],
    wire: WireOption = "mtu",
) -> None:
    """Print a shell script that makes the topology by hand.

    \b
    wanlab plan topology.mn
    wanlab plan dumbbell,pairs=2,rate=10Mbps,delay=20ms
    wanlab plan single,2 | wanlab exec -- bash -e
    """
    from . import topologies

    print(topologies.script(topology, wire), end="")


@kernel.command(
    "build",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def kernel_build(context: typer.Context) -> None:
    """Build the kernel, unless it has been built."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["build", *context.args]))


@kernel.command(
    "info",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def kernel_info(context: typer.Context) -> None:
    """Say what the kernel is made of and where it is."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["info", *context.args]))
