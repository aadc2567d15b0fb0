"""`wanlab cpu` and its commands: models of processors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completions
from .options import Json, file_option
from .usage import Commands

cpu = Commands(
    help="List, show and measure models of processors.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
MODEL_FILE = "this-computer.yaml"


@cpu.command("list")
def cpu_list(as_json: Json = False) -> None:
    """List the models that come with wanlab."""
    from . import cpus

    cpus.show_list(as_json=as_json)


@cpu.command("show")
def cpu_show(
    model: Annotated[
        str,
        typer.Argument(
            help="A model's name, or its .yaml file.",
            metavar="MODEL",
            autocompletion=completions.cpu_names,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show the costs of a model, and where each comes from."""
    from . import cpus

    cpus.show(model, as_json=as_json)


@cpu.command("calibrate")
def cpu_calibrate(
    output: Annotated[Path, file_option("Write the model to FILE.", "-o", "--output")] = Path(
        MODEL_FILE
    ),
    base: Annotated[
        str,
        typer.Option(
            help="Take the costs that cannot be measured from this model.",
            metavar="MODEL",
            autocompletion=completions.cpu_names,
        ),
    ] = "server-2019",
) -> None:
    """Measure this computer, and write a model of its processor.

    \b
    wanlab cpu calibrate -o mine.yaml
    wanlab exec --topo single,2 --cpu mine.yaml --node h1 -- ping -c 3 h2

    It takes less than a minute, and needs no privileges. The least of many measurements counts, so
    other programs disturb it little. Costs that cannot be measured are the base's: those of a network
    adapter, and, where user namespaces are not allowed, of checksums. The file says which.
    """
    from . import cpus

    cpus.calibrate(output, base)
