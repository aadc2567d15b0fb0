"""`wanlab reproduce` and its commands, with their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completions
from .options import Jobs, Json, Kernel, NoCache, Scheduler, Traps, folder_option, machine_choice
from .usage import Commands

reproduce = Commands(
    help="""Repeat published figures and compare the results.

    \b
    wanlab reproduce list
    wanlab reproduce show mathis
    wanlab reproduce run mathis bbr-loss
    wanlab reproduce report
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)

FigureName = Annotated[
    str,
    typer.Argument(
        help="A figure of the gallery; see: wanlab reproduce list.",
        metavar="NAME",
        autocompletion=completions.gallery,
    ),
]
GalleryFolder = Annotated[
    Path | None,
    folder_option("Use the definitions of figures in FOLDER, not the gallery's.", "--units"),
]
Output = Annotated[
    Path,
    folder_option("Keep measurements in FOLDER.", "-o", "--output"),
]
RESULTS = Path("results/gallery")


@reproduce.command("list")
def reproduce_list(units: GalleryFolder = None, as_json: Json = False) -> None:
    """List the published figures that can be repeated (the gallery)."""
    from . import reproductions

    raise typer.Exit(reproductions.show_list(units, as_json=as_json))


@reproduce.command("show")
def reproduce_show(name: FigureName, units: GalleryFolder = None, as_json: Json = False) -> None:
    """Show what was published, and what wanlab predicts.

    Each prediction has an accepted range (a band) and a reason, both written down before the first run.
    """
    from . import reproductions

    raise typer.Exit(reproductions.show(name, units, as_json=as_json))


@reproduce.command("run")
def reproduce_run(
    figures: Annotated[
        list[str],
        typer.Argument(
            help="Figures of the gallery, or `all`.",
            metavar="NAME...",
            autocompletion=completions.gallery,
        ),
    ],
    full: Annotated[
        bool,
        typer.Option("--full", help="Run the larger set of parameter values, which takes longer."),
    ] = False,
    kernel: Kernel = None,
    traps: Traps = None,
    jobs: Jobs = None,
    scheduler: Scheduler = "",
    output: Output = RESULTS,
    units: GalleryFolder = None,
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Repeat a figure over several seeds and compare the results.

    \b
    wanlab reproduce run mathis
    wanlab reproduce run mathis --full -j 8
    wanlab reproduce run bbr-loss --kernel 7.3 --output results/gallery-7.3

    The measurement is kept as NAME.json in the output folder (with --full as full/NAME.json), with a
    page (NAME.md) and a figure (NAME.svg) that shows the published points and ours. Finished runs are
    cached, so an interrupted command resumes. Without --full, each figure takes less than two
    minutes on two idle cores.

    Exit status: 0, or 1 if a run failed. A figure that differs from the published one is not a failure.
    """
    from . import reproductions

    raise typer.Exit(
        reproductions.run(
            figures,
            full=full,
            jobs=jobs,
            scheduler=scheduler,
            output=output,
            units=units,
            no_cache=no_cache,
            choice=machine_choice(kernel, traps),
            as_json=as_json,
        )
    )


@reproduce.command("report")
def reproduce_report(
    folder: Annotated[
        Path,
        typer.Argument(help="The folder in which `run` has kept measurements.", metavar="FOLDER"),
    ] = RESULTS,
    units: GalleryFolder = None,
    as_json: Json = False,
) -> None:
    """Write the pages again, and print the verdicts.

    It writes a page for each measurement in FOLDER, and an index.
    """
    from . import reproductions

    raise typer.Exit(reproductions.report(folder, units, as_json=as_json))
