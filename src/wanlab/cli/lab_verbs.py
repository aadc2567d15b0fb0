"""`wanlab lab` and its verbs, with their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from .options import Clock, Json, Seed

lab = typer.Typer(help="The course's labs.", no_args_is_help=True, rich_markup_mode=None)

UnitName = Annotated[
    str, typer.Argument(help="6, ex3 or prob1; see: wanlab lab list.", metavar="UNIT")
]


@lab.command("list")
def lab_list(as_json: Json = False) -> None:
    """List the labs, exercises and problems that are here, in the manual's order."""
    from . import labs

    labs.show_list(as_json=as_json)


@lab.command("show")
def lab_show(
    unit: UnitName,
    text: Annotated[bool, typer.Option("--text", help="As Markdown, as it is written.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="With the answers to the questions.")
    ] = False,
) -> None:
    """Show the lesson of a unit."""
    from . import lesson

    raise typer.Exit(lesson.show(unit, as_text=text, with_answers=answers))


@lab.command("start")
def lab_start(
    unit: UnitName,
    seed: Seed = 1,
    clock: Clock = "virtual",
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="What is /home/admin in the machine (./lab06).", metavar="FOLDER"),
    ] = None,
    no_tmux: Annotated[
        bool, typer.Option("--no-tmux", help="Only the prompt, even if tmux is installed.")
    ] = False,
) -> None:
    """Open the running network of a unit: Mininet's prompt, and in tmux a window for each terminal.

    \b
    wanlab lab start 6
    wanlab lab start prob1 --seed 4 --folder ~/prob1

    The manual's folders are there: ~/lab_topologies, ~/NTP_Exercises, ~/NTP_Problems. What is written to
    them stays in FOLDER. `wanlab lab check UNIT`, typed in there, grades what you have done.
    """
    from . import lab_start as verb

    raise typer.Exit(verb.start(unit, seed=seed, clock=clock, folder=folder, without_tmux=no_tmux))


@lab.command("run")
def lab_run(
    units: Annotated[
        list[str], typer.Argument(help="6, ex3, prob1, or several; or all.", metavar="UNIT...")
    ],
    seed: Seed = 1,
    clock: Clock = "virtual",
    results: Annotated[
        Path, typer.Option(help="Where the run's folder is made.", metavar="FOLDER")
    ] = Path("results"),
    as_json: Json = False,
    jobs: Annotated[
        int,
        typer.Option("-j", "--jobs", min=1, help="Of several: so many at once.", metavar="NUMBER"),
    ] = 1,
    table: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Of several: all numbers as Markdown, too.", metavar="FILE"),
    ] = None,
) -> None:
    """Perform all steps of a unit and compare with the manual; exercises are solved and graded, too.

    \b
    wanlab lab run 14
    wanlab lab run ex3 --seed 2 --json > report.json
    wanlab lab run all -j 2

    The report (HTML with figures, and JSON), a transcript and all files are kept in a folder that is
    named by the run. What a run that is interrupted has measured until then is in one that ends in
    .partial. Progress is told on standard error.

    Several units run in processes of their own, the longest first; a summary (course-seed1.html and
    .json) lies beside their reports. Ctrl-C ends all of them.

    Exit status: 0, or 1 if a step failed, a number of the manual's was not reproduced and not
    explained either, or the solution did not pass.
    """
    from . import labs

    if len(units) > 1 or units == [labs.ALL] or table is not None:
        status = labs.run_several(
            units,
            seed=seed,
            clock=clock,
            results=results,
            as_json=as_json,
            jobs=jobs,
            markdown=table,
        )
    else:
        status = labs.run(units[0], seed=seed, clock=clock, results=results, as_json=as_json)
    raise typer.Exit(status)


@lab.command("check")
def lab_check(
    unit: UnitName,
    script: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Commands of the client's terminal, or steps (.yaml).", metavar="FILE"),
    ] = None,
    seed: Seed = 1,
    clock: Clock = "virtual",
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Where the script's /home/admin is kept.", metavar="FOLDER"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Grade a student's work: points, and a hint for each check that is missed.

    \b
    wanlab lab check prob1 --script solution.sh --seed 4
    wanlab lab check prob1                 in a terminal of: wanlab lab start prob1

    A script begins where the unit's environment has been set up; `wanlab-node h1 COMMAND` in it runs a
    command in a host.

    Exit status: 0 if all checks are passed, otherwise 1.
    """
    from . import labs

    raise typer.Exit(
        labs.check(unit, script=script, seed=seed, clock=clock, as_json=as_json, keep=folder)
    )
