"""`wanlab web`: the laboratory in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from .display import has_display


def web(
    file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(help="A topology to begin with (.mn, .yaml).", metavar="[FILE]"),
    ] = None,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=65535, help="Of this computer (8765, or the next free one)."),
    ] = None,
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="The working folder (the current one, or FILE's).", metavar="FOLDER"),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> None:
    """Open the laboratory in the browser: draw a network, run it, type in its terminals.

    \b
    wanlab web
    wanlab web topology.mn
    wanlab web --no-browser --port 9000       on another computer; then: ssh -L 9000:localhost:9000 ...
    """
    from wanlab.web import server

    server.run(file, port=port, folder=folder, opens_browser=not no_browser and has_display())


def opens_without_a_word() -> bool:
    """`wanlab` alone opens the laboratory where somebody sits at a desktop; elsewhere it helps."""
    return sys.stdin.isatty() and sys.stdout.isatty() and has_display()
