"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import OptionInfo

from wanlab.errors import WanlabError
from wanlab.machine_options import MACHINE_OPTIONS

from . import completions

if TYPE_CHECKING:
    from wanlab.network import MachineChoice


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


def machine_option(
    name: str,
    *,
    help: str = "",
    has_default: bool = False,
    min: float | None = None,
) -> OptionInfo:
    """Return an option of the table `MACHINE_OPTIONS`, whose value is checked when it is parsed.

    With `has_default`, typer shows the default, otherwise the help says it.
    """
    row = MACHINE_OPTIONS[name]

    def check(value: Any) -> Any:
        if value and row.choices:
            one_of(name, value, row.choices)
        return value

    complete = completions.one_of(*row.choices) if row.choices else None
    option: OptionInfo = typer.Option(
        f"--{name}",
        help=help or row.sentence(with_default=not has_default),
        metavar=row.metavar,
        min=min,
        autocompletion=completions.OF_OPTIONS.get(name, complete),
        callback=check,
    )
    return option


def one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    """Return the value if it is one of `known`. Raises WanlabError otherwise."""
    if value not in known:
        raise WanlabError(f"--{option} {value}: unknown value", f"use one of: {', '.join(known)}")
    return value


Seed = Annotated[int, machine_option("seed", has_default=True, min=0)]
OptionalSeed = Annotated[int | None, machine_option("seed", min=0)]
UnitSeed = Annotated[
    int | None,
    number_option(
        "Seed of all random numbers, and of a problem's faults and values (default: the unit's, "
        "usually 1). 0: the values that the manual prints.",
        min=0,
    ),
]
Clock = Annotated[str, machine_option("clock", has_default=True)]
Pace = Annotated[
    str | None,
    machine_option(
        "pace",
        help="In the windows of tmux, where time passes as on a real clock: fast lets a minute pass "
        "in a second once no key has been pressed for 5 s. Without tmux, commands are as fast as "
        "possible; real: never faster than real time.",
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
WireOption = Annotated[str, machine_option("wire", has_default=True)]
Cpu = Annotated[str | None, machine_option("cpu")]


def machine_choice(
    kernel: str | None = None, traps: str | None = None, cpu: str | None = None
) -> MachineChoice:
    """Return what these options choose, with absolute paths. A kernel is built if need be.

    Raises WanlabError if there is no such kernel or processor.
    """
    from wanlab.machine.embedded import find_image
    from wanlab.network import MachineChoice
    from wanlab.topology.cpu import is_model_file, read_cpu

    if kernel and (folder := Path(kernel).absolute()) == find_image(kernel).folder:
        kernel = str(folder)
    read_cpu(cpu)
    if cpu and is_model_file(cpu):
        cpu = str(Path(cpu).absolute())
    return MachineChoice(kernel or "", traps or "", cpu)


Kernel = Annotated[str | None, machine_option("kernel")]
Traps = Annotated[str | None, machine_option("traps")]
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
SessionFile = Annotated[Path | None, machine_option("session")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Units = Annotated[
    Path | None,
    folder_option("Use the units in FOLDER, not the course's.", "--units"),
]
