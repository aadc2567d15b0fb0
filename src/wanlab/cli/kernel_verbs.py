"""`wanlab kernel` and its commands, which the kernel's recipe performs."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completions
from .passed_on import ALL_ARGUMENTS, PassedOn
from .usage import Commands

kernel = Commands(
    help="Build, list and verify the kernels of machines.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
RECIPE = {**ALL_ARGUMENTS, "help_option_names": []}
RecipeOptions = Annotated[
    list[str] | None,
    typer.Argument(
        autocompletion=completions.one_of(
            "--jobs", "--again", "--source", "--name", "--base", "--patch", "--tree", "--config"
        ),
        hidden=True,
    ),
]
ImageFolder = Annotated[
    list[str] | None,
    typer.Argument(autocompletion=completions.kernels, hidden=True),
]


@kernel.command("build", cls=PassedOn, context_settings=RECIPE)
def kernel_build(arguments: RecipeOptions = None) -> None:
    """Build a kernel, or a variant with your own changes."""
    _run("build", arguments)


@kernel.command("tree", cls=PassedOn, context_settings=RECIPE)
def kernel_tree(arguments: RecipeOptions = None) -> None:
    """Unpack a kernel's patched source for you to edit."""
    _run("tree", arguments)


@kernel.command("list", cls=PassedOn, context_settings=RECIPE)
def kernel_list(arguments: RecipeOptions = None) -> None:
    """List the kernels, and the folders of those that are built."""
    _run("list", arguments)


@kernel.command("verify", cls=PassedOn, context_settings=RECIPE)
def kernel_verify(arguments: ImageFolder = None) -> None:
    """Build the kernel again and compare it with an image."""
    _run("verify", arguments)


@kernel.command("patches", cls=PassedOn, context_settings=RECIPE)
def kernel_patches(arguments: ImageFolder = None) -> None:
    """Tell which patches apply to another release."""
    _run("patches", arguments)


@kernel.command("config", cls=PassedOn, context_settings=RECIPE)
def kernel_config(arguments: RecipeOptions = None) -> None:
    """Print a kernel's full configuration; build nothing."""
    _run("config", arguments)


@kernel.command("info", cls=PassedOn, context_settings=RECIPE)
def kernel_info(arguments: ImageFolder = None) -> None:
    """Show what the kernel was built from and where it is."""
    _run("info", arguments)


def _run(verb: str, arguments: list[str] | None) -> None:
    from . import kernels

    raise typer.Exit(kernels.run_recipe([verb, *(arguments or [])]))
