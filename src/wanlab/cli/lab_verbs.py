"""`wanlab lab` and its commands, with their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completions
from .options import (
    Clock,
    Cpu,
    Json,
    Kernel,
    Pace,
    StartJitter,
    Traps,
    Units,
    UnitSeed,
    file_option,
    folder_option,
    machine_choice,
    number_option,
)
from .usage import Commands

lab = Commands(
    help="Work with the labs of a course on network protocols.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

UnitName = Annotated[
    str,
    typer.Argument(
        help="A unit such as 6, ex3 or prob1; see: wanlab lab list.",
        metavar="UNIT",
        autocompletion=completions.units,
    ),
]


@lab.command("list")
def lab_list(as_json: Json = False, units: Units = None) -> None:
    """List labs, exercises and problems in the manual's order.

    The manual is the printed lab manual of the course.
    """
    from . import labs

    labs.show_list(as_json=as_json, units=units)


@lab.command("show")
def lab_show(
    unit: UnitName,
    text: Annotated[
        bool,
        typer.Option("--text", help="Print the lesson as Markdown, for printing or converting."),
    ] = False,
    hint: Annotated[
        int | None, number_option("Show only this hint; the first one is 1.", min=1)
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Show hints and answers too (for teachers).")
    ] = False,
    instructor: Annotated[
        bool,
        typer.Option(
            "--instructor", help="Show the instructor's edition, with solutions and times."
        ),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="List the steps and their numbers, for: lab start --at.")
    ] = False,
    figure: Annotated[
        str | None,
        typer.Option("--figure", help="Open this figure of the lesson.", metavar="NAME"),
    ] = None,
    seed: UnitSeed = None,
    units: Units = None,
) -> None:
    """Show the lesson of a unit.

    Hints and answers are left out. If the environment has WANLAB_ANSWERS=no, --answers and --instructor
    are refused.

    \b
    wanlab lab show 6
    wanlab lab show prob1 --seed 4711 --hint 1
    wanlab lab show prob1 --instructor > prob1.md
    wanlab lab show 16 --steps
    wanlab lab show 7 --figure phases
    """
    from . import lesson

    lesson.show(
        unit,
        as_text=text,
        hint=hint,
        with_answers=answers,
        for_instructors=instructor,
        only_steps=steps,
        figure=figure,
        seed=seed,
        units=units,
    )


@lab.command("start")
def lab_start(
    unit: UnitName,
    seed: UnitSeed = None,
    clock: Clock = "virtual",
    kernel: Kernel = None,
    cpu: Cpu = None,
    traps: Traps = None,
    folder: Annotated[
        Path | None,
        folder_option(
            "Folder for your files, /home/admin in the machine (default: ./UNIT, such as ./lab06)."
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at",
            help="Begin at this step, after all earlier steps have been done.",
            metavar="STEP",
        ),
    ] = None,
    no_tmux: Annotated[
        bool, typer.Option("--no-tmux", help="Run only the prompt, even if tmux is installed.")
    ] = False,
    pace: Pace = None,
    start_jitter: StartJitter = None,
    units: Units = None,
) -> None:
    """Start the network of a unit, with Mininet's prompt.

    If tmux is installed, each terminal has a window.

    \b
    wanlab lab start 6
    wanlab lab start prob1 --seed 4 --folder ~/prob1
    wanlab lab start 16 --at 12 --folder ~/lab16-from-12
    wanlab lab start 4 --pace fast

    FOLDER keeps your files, and FOLDER/transcripts keeps the output of the terminals. The home folder
    in the network also has the folders that the course's manual names: ~/lab_topologies,
    ~/NTP_Exercises and ~/NTP_Problems.

    To have your work graded, type `wanlab lab check UNIT` in the network.
    With --at, all steps before STEP are typed for you (`wanlab lab show UNIT --steps` lists
    them). The command then lists the programs that those steps have left running.

    At mininet>, two commands start in the same nanosecond if the first one ends with &. Two equal TCP
    flows can then stay in step for minutes. With --start-jitter 5ms, each command that is typed there
    starts up to 5 ms later, as on a real computer. (In the windows of tmux, your hands do that.)
    """
    from . import lab_start as command_module

    raise typer.Exit(
        command_module.start(
            unit,
            seed=seed,
            clock=clock,
            folder=folder,
            without_tmux=no_tmux,
            units=units,
            at=at,
            start_jitter=start_jitter,
            pace=pace,
            choice=machine_choice(kernel, traps, cpu),
        )
    )


@lab.command("run")
def lab_run(
    units: Annotated[
        list[str],
        typer.Argument(
            help="One or more units such as 6, ex3 or prob1, or all.",
            metavar="UNIT",
            autocompletion=completions.units,
        ),
    ],
    seed: UnitSeed = None,
    clock: Clock = "virtual",
    kernel: Kernel = None,
    cpu: Cpu = None,
    traps: Traps = None,
    results: Annotated[
        Path, folder_option("Create the results folder of this run in FOLDER.")
    ] = Path("results"),
    as_json: Json = False,
    jobs: Annotated[int, number_option("Units to run in parallel.", "-j", "--jobs", min=1)] = 1,
    table: Annotated[
        Path | None, file_option("With several units: write all numbers to FILE as Markdown.")
    ] = None,
    seeds: Annotated[
        int | None,
        number_option(
            "Run one unit with this many seeds, and show the distribution of each number.", min=2
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With several units: do not repeat runs that have finished (as with --seeds).",
        ),
    ] = False,
    distributions: Annotated[
        Path | None,
        folder_option(
            "With --table: add the distributions that runs with --seeds have written to FOLDER."
        ),
    ] = None,
    start_jitter: StartJitter = None,
) -> None:
    """Run a unit and compare the results with the course's manual.

    Performs all steps of a lab; solves and grades exercises and problems.

    \b
    wanlab lab run 14
    wanlab lab run ex3 --seed 2 --json > report.json
    wanlab lab run all -j 2
    wanlab lab run 18 --seeds 40 -j 2

    The report (HTML with figures, and JSON), a transcript and all files are kept in a folder named after
    the run. If a run is interrupted, its results so far are in a folder whose name ends in .partial.
    Progress is shown on standard error.

    If you name several units, each runs in its own process. The longest start first. A summary
    (course.html and .json; with --seed 2, course-seed2.html) is written next to their reports.
    Ctrl-C ends all of them.

    --seeds N runs the unit with N seeds, the first of which is --seed (default: 1). For each
    number of the manual, the table shows the median and the central 95 % of the measured values
    (with fewer than 40 seeds, their whole range). It also shows how many seeds give a value in the
    accepted range, and what share of the seeds gives less than the manual. All values are kept next
    to the reports.

    With --seeds or --resume, finished runs in the folder of results are not repeated, so an interrupted
    command resumes. Runs with other code of wanlab, or another kernel, program or unit, do not
    count.

    Where two terminals press Enter together, the commands start in the same nanosecond, with every
    seed. Two equal TCP flows can then stay in step. --start-jitter 5ms starts each of them up to 5 ms
    later, as on a real computer; the seed draws the delays.

    Exit status: 0, or 1 if a step failed, a number is outside its band and the unit states no
    cause, or the solution did not pass.
    """
    from wanlab.labs import catalog
    from wanlab.network import parse_start_jitter

    from . import labs

    start_jitter_ns = parse_start_jitter(start_jitter)
    choice = machine_choice(kernel, traps, cpu)
    if distributions is not None and table is None:
        raise typer.BadParameter("--distributions needs --table")
    if seeds is not None:
        if table is not None:
            raise typer.BadParameter("--seeds cannot be combined with --table")
        first = 1 if seed is None else seed
        status = labs.run_seeds(
            units,
            seeds=range(first, first + seeds),
            clock=clock,
            results=results,
            as_json=as_json,
            jobs=jobs,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    elif len(units) > 1 or units == [catalog.ALL] or table is not None:
        status = labs.run_several(
            units,
            seed=seed,
            clock=clock,
            results=results,
            as_json=as_json,
            jobs=jobs,
            markdown=table,
            distributions=distributions,
            resumes=resume,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    else:
        status = labs.run(
            units[0],
            seed=seed,
            clock=clock,
            results=results,
            as_json=as_json,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    raise typer.Exit(status)


@lab.command("check")
def lab_check(
    unit: UnitName,
    script: Annotated[
        Path | None,
        file_option(
            "Shell commands for the client's terminal (the root namespace), or steps as in lab.yaml."
        ),
    ] = None,
    session: Annotated[
        Path | None, file_option("A session file or hand-in: grade what was typed.")
    ] = None,
    seed: UnitSeed = None,
    clock: Clock = "virtual",
    kernel: Kernel = None,
    cpu: Cpu = None,
    folder: Annotated[
        Path | None, folder_option("Use FOLDER as /home/admin while the script runs, and keep it.")
    ] = None,
    as_json: Json = False,
    units: Units = None,
) -> None:
    """Grade a student's work.

    Shows the points, and a hint for each check that fails.

    \b
    wanlab lab check prob1 --script solution.sh --seed 4
    wanlab lab check prob1 --session prob1-seed4.zip --seed 4
    wanlab lab check prob1               in a terminal of: wanlab lab start prob1

    A script starts in the client's terminal after the unit's environment has been set up. It runs
    commands on hosts with `wanlab-node h1 COMMAND`.

    With --session, everything that was typed in the session is typed again, each input at its
    original time, in a fresh network of the unit, which is then graded. The output in the session
    file does not count.

    Exit status: 0 if all checks pass, otherwise 1.
    """
    from . import labs

    raise typer.Exit(
        labs.check(
            unit,
            script=script,
            session=session,
            seed=seed,
            clock=clock,
            as_json=as_json,
            keep=folder,
            choice=machine_choice(kernel, cpu=cpu),
            units=units,
        )
    )


@lab.command("hand-in")
def lab_hand_in(
    unit: UnitName,
    seed: UnitSeed = None,
    folder: Annotated[
        Path | None,
        folder_option("The folder that lab start used (default: ./UNIT, such as ./problem1)."),
    ] = None,
    script: Annotated[
        Path | None,
        file_option(
            "The commands that solve the unit (default: UNIT.sh in FOLDER, such as FOLDER/prob1.sh)."
        ),
    ] = None,
    session: Annotated[
        Path | None, file_option("The session that counts (default: the newest in FOLDER).")
    ] = None,
    output: Annotated[
        Path | None,
        file_option(
            "The file to write (default: UNIT-seedN.zip, such as prob1-seed1.zip).",
            "-o",
            "--output",
        ),
    ] = None,
    units: Units = None,
) -> None:
    """Pack your work on a unit into one file for your instructor.

    The file has the script, what each terminal showed, and the versions of wanlab and its kernel.
    If you wrote no script, one is made from the commands that you typed: read it before you hand it in.
    The file also has the newest sessions, which contain your files and everything that you typed.

    \b
    wanlab lab hand-in prob1 --seed 4711 --folder ~/prob1
    """
    from . import class_grading

    class_grading.pack(
        unit,
        seed=seed,
        folder=folder,
        script=script,
        session=session,
        output=output,
        units=units,
    )


@lab.command("grade")
def lab_grade(
    folder: Annotated[
        Path, typer.Argument(help="A folder with one folder per student.", metavar="FOLDER")
    ],
    seeds: Annotated[Path, file_option("CSV with the columns student and seed.")],
    unit: Annotated[
        list[str] | None,
        typer.Option(
            help="Grade this unit (repeatable; default: all that were handed in).", metavar="UNIT"
        ),
    ] = None,
    jobs: Annotated[int, number_option("Networks to run in parallel.", "-j", "--jobs", min=1)] = 1,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Grade the newest session of each hand-in, not its script."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Grade only this student, again (repeatable).", metavar="NAME"),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(help='Mark later submissions as late: "2026-11-20 23:59".', metavar="TIME"),
    ] = None,
    minutes: Annotated[
        float, number_option("Time limit for one submission, in minutes of real time.", min=0.01)
    ] = 15,
    results: Annotated[Path, folder_option("Write tables and feedback to FOLDER.")] = Path(
        "grades"
    ),
    units: Units = None,
) -> None:
    """Grade the submissions of a class.

    Each student's folder, such as submissions/Ada Lovelace, holds a script (prob1.sh), a hand-in
    (prob1-seed7.zip) or a session (prob1.wanlab).

    \b
    wanlab lab grade submissions --seeds seeds.csv -j 4
    wanlab lab grade submissions --seeds seeds.csv -j 4 --replay
    wanlab lab grade submissions --seeds seeds.csv --only "Ada Lovelace"

    Writes grades.csv, files for Moodle and Canvas, a page of feedback for each student, and a list
    of submissions that are alike. Submissions that have not changed since an earlier run are not
    graded again. A session is replayed in a fresh network, which is then measured with your
    computer's programs.

    Exit status: 0, or 1 if something that was handed in could not be graded.
    """
    from . import class_grading

    raise typer.Exit(
        class_grading.grade(
            folder,
            seeds=seeds,
            chosen=unit or [],
            units=units,
            jobs=jobs,
            minutes=minutes,
            due=due,
            only=only or [],
            results=results,
            by_session=replay,
        )
    )


@lab.command("new")
def lab_new(
    name: Annotated[str, typer.Argument(help="The name of the unit.", metavar="NAME")],
    units: Annotated[Path, folder_option("The folder of your units.", "--units")] = Path("units"),
) -> None:
    """Write template files for a new unit.

    \b
    wanlab lab new slow-link --units my-units
    wanlab lab start slow-link --units my-units
    """
    from . import class_grading

    class_grading.new(name, units)
