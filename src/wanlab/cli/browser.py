"""`wanlab web`: the laboratory in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from .display import has_display
from .options import Kernel, SessionFile


def web(
    file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(help="The topology to open (.mn, .yaml).", metavar="FILE"),
    ] = None,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=1,
            max=65535,
            help="Port to serve on (default: 8765, or the next free one).",
            metavar="PORT",
        ),
    ] = None,
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="The working folder (default: that of FILE, or the current one).", metavar="FOLDER"
        ),
    ] = None,
    session: SessionFile = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and do not open a browser.")
    ] = False,
    kernel: Kernel = None,
) -> None:
    """Open the laboratory in the browser.

    Draw a network there, run it, and use its terminals.

    \b
    wanlab web
    wanlab web topology.mn
    wanlab web --no-browser --port 9000       on a remote computer, with ssh -L 9000:localhost:9000

    With --session FILE, each run of a network is recorded: in FILE, FILE-2 and so on. These files
    contain everything that is typed, including passwords.
    """
    from wanlab.web import server

    server.run(
        file,
        port=port,
        folder=folder,
        opens_browser=not no_browser and has_display(),
        session_file=session,
    )


def opens_without_arguments() -> bool:
    """Whether `wanlab` without arguments opens the browser (as on a desktop) instead of its help."""
    return sys.stdin.isatty() and sys.stdout.isatty() and has_display()
