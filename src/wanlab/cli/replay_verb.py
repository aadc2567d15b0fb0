"""`wanlab replay`, with its options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import SessionFile, folder_option, machine_option


def replay(
    file: Annotated[Path, typer.Argument(help="The session file, or a hand-in.", metavar="FILE")],
    until: Annotated[
        str | None,
        typer.Option(help="Stop when virtual time reaches TIME, such as 12.5s.", metavar="TIME"),
    ] = None,
    hands_over: Annotated[
        bool,
        typer.Option("--continue", help="After the replay, continue the session in this terminal."),
    ] = False,
    verifies: Annotated[
        bool,
        typer.Option("--verify", help="Print only whether the replay matches the recording."),
    ] = False,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Network seconds per real second, such as 1 (default: as fast as possible).",
            metavar="FACTOR",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        folder_option("Work in FOLDER, which must be empty or new (default: a temporary one)."),
    ] = None,
    session: SessionFile = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Replay even on a different kernel.")
    ] = False,
    traps: Annotated[str | None, machine_option("traps")] = None,
) -> None:
    """Repeat a recorded session and print its output.

    \b
    wanlab exec --topo single,2 --node h1 --session ping.wanlab -- ping -c 5 h2
    wanlab replay ping.wanlab
    wanlab replay ping.wanlab --verify
    wanlab replay ping.wanlab --until 2.5s --continue
    wanlab replay prob1-seed7.zip --verify         the newest session in a student's hand-in

    On the same kernel, with the same versions of the programs, everything happens again at the same
    times. If something differs on this computer, wanlab says so first. If the session has several
    programs, each line begins with its time and its node. A session on the real clock cannot be
    replayed.

    The programs work in a copy of the session's working folder, which is removed afterwards.

    Exit status: 0; 1 if --verify finds a difference, and for errors; with --continue that of the
    program.
    """
    from . import replay as command_module

    raise typer.Exit(
        command_module.run(
            file,
            until=until,
            hands_over=hands_over,
            verifies=verifies,
            speed=speed,
            folder=folder,
            session_file=session,
            anyway=anyway,
        )
    )
