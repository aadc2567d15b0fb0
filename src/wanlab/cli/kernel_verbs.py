"""`wanlab kernel` and its commands, which the kernel's recipe performs."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from . import completions
from .passed_on import ALL_ARGUMENTS, PassedOn

kernel = typer.Typer(
    help="Build, list or show the kernels of the embedded machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
RECIPE = {**ALL_ARGUMENTS, "help_option_names": []}
RecipeOptions = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        autocompletion=completions.one_of(
            "--jobs", "--again", "--source", "--name", "--base", "--patch"
        ),
        hidden=True,
    ),
]
ImageFolder = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(autocompletion=completions.kernels, hidden=True),
]


@kernel.command("build", cls=PassedOn, context_settings=RECIPE)
def kernel_build(arguments: RecipeOptions = None) -> None:
    """Build a kernel, unless it exists already; with --name and --patch, a variant of your own."""
    _run("build", arguments)


@kernel.command("list", cls=PassedOn, context_settings=RECIPE)
def kernel_list(arguments: RecipeOptions = None) -> None:
    """List the kernels and variants by name, and where those that have been built are."""
    _run("list", arguments)


@kernel.command("verify", cls=PassedOn, context_settings=RECIPE)
def kernel_verify(arguments: ImageFolder = None) -> None:
    """Say whether a kernel image is the one that the recipe makes."""
    _run("verify", arguments)


@kernel.command("info", cls=PassedOn, context_settings=RECIPE)
def kernel_info(arguments: ImageFolder = None) -> None:
    """Show what the kernel was built from and where it is."""
    _run("info", arguments)


def _run(verb: str, arguments: list[str] | None) -> None:
    from . import kernels

    raise typer.Exit(kernels.run_recipe([verb, *(arguments or [])]))
