"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from . import completions


def topology_option(help: str) -> OptionInfo:
    """Return an option that takes a topology file or a shape."""
    option: OptionInfo = typer.Option(
        help=help, metavar="TOPOLOGY", autocompletion=completions.topologies
    )
    return option


def node_option(help: str) -> OptionInfo:
    """Return an option that takes the name of a node."""
    option: OptionInfo = typer.Option(help=help, metavar="NODE", autocompletion=completions.nodes)
    return option


def choice_option(help: str, metavar: str, *values: str) -> OptionInfo:
    """Return an option whose value is one of `values`; the command checks that."""
    option: OptionInfo = typer.Option(
        help=help, metavar=metavar, autocompletion=completions.one_of(*values)
    )
    return option


def folder_option(help: str, *names: str) -> OptionInfo:
    """Return an option that takes the path of a folder."""
    option: OptionInfo = typer.Option(*names, help=help, metavar="FOLDER")
    return option


def file_option(help: str, *names: str) -> OptionInfo:
    """Return an option that takes the path of a file."""
    option: OptionInfo = typer.Option(*names, help=help, metavar="FILE")
    return option


def number_option(help: str, *names: str, min: float | None = None) -> OptionInfo:
    """Return an option that takes a number, which must be at least `min`."""
    option: OptionInfo = typer.Option(*names, help=help, metavar="NUMBER", min=min)
    return option


Seed = Annotated[int, number_option("Seed of all random numbers in the machine.", min=0)]
OptionalSeed = Annotated[
    int | None,
    number_option("Seed of all random numbers in the machine (default: 1).", min=0),
]
UnitSeed = Annotated[
    int | None,
    number_option(
        "Seed of all random numbers, and of a problem's faults and values (default: the unit's, "
        "usually 1). 0: the values that the manual prints.",
        min=0,
    ),
]
Clock = Annotated[
    str,
    choice_option("virtual (as fast as possible, repeatable) or real.", "CLOCK", "virtual", "real"),
]
Pace = Annotated[
    str | None,
    choice_option(
        "In the windows of tmux, where time passes as on a real clock: fast lets a minute pass in a "
        "second once no key has been pressed for 5 s. Without tmux, commands are as fast as possible; "
        "real: never faster than real time.",
        "PACE",
        "fast",
        "real",
    ),
]
StartJitter = Annotated[
    str | None,
    typer.Option(
        "--start-jitter",
        help="Start each command that starts together with others up to TIME later, such as 5ms, by "
        "a delay that the seed draws (default: all at the same instant).",
        metavar="TIME",
    ),
]
WireOption = Annotated[
    str,
    choice_option(
        "mtu (packets as on a real wire) or gso (up to 64 KB, as on plain veth; faster).",
        "WIRE",
        "mtu",
        "gso",
    ),
]


def _boot(name: str | None) -> str | None:
    """Let every network of this process and its children boot the kernel of this name."""
    if name:
        import os

        from wanlab.machine.embedded import IMAGE_VARIABLE, find_image

        find_image(name)  # builds it if need be, and says what is wrong with the name
        os.environ[IMAGE_VARIABLE] = name
    return name


Kernel = Annotated[
    str | None,
    typer.Option(
        help="The kernel to boot; see: wanlab kernel list (default: 6.12).",
        metavar="NAME",
        autocompletion=completions.kernel_names,
        callback=_boot,
    ),
]


def _choose_traps(mode: str | None) -> str | None:
    """Let every network of this process and its children run in this mode."""
    if mode:
        import os

        from wanlab.machine.embedded import TRAPS_VARIABLE, read_mode

        os.environ[TRAPS_VARIABLE] = read_mode(mode)
    return mode


TRAPS_HELP = (
    "How the kernel takes over system calls: ptrace, inprocess or seccomp; results are the same "
    "(default: the best that is possible; wanlab docs kernels)."
)
Traps = Annotated[
    str | None,
    typer.Option(
        help=TRAPS_HELP,
        metavar="MODE",
        autocompletion=completions.one_of("ptrace", "inprocess", "inprocess-nopatch", "seccomp"),
        callback=_choose_traps,
    ),
]
Jobs = Annotated[
    int | None,
    number_option("Runs in parallel (default: one per CPU).", "-j", "--jobs", min=1),
]
Scheduler = Annotated[
    str, typer.Option(help="Use the Dask cluster of this scheduler.", metavar="ADDRESS")
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither use cached results nor cache new ones.")
]
SessionFile = Annotated[
    Path | None,
    file_option("Record all input and output, for: wanlab replay FILE.", "--session"),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Units = Annotated[
    Path | None,
    folder_option("Use the units in FOLDER, not the course's.", "--units"),
]
