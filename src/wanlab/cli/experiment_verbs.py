"""`wanlab run` and `wanlab sweep`, with their options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from . import completions
from .options import (
    Cpu,
    Jobs,
    Json,
    Kernel,
    NoCache,
    Scheduler,
    Seed,
    Traps,
    folder_option,
    machine_choice,
    number_option,
)

FILES = (
    "An experiment: FILE.py, FILE.py:NAME (one of several) or FILE.yaml; see wanlab docs sweeps."
)
ExperimentFile = Annotated[str, typer.Argument(help=FILES, metavar="FILE")]
OptionalExperimentFile = Annotated[str | None, typer.Argument(help=FILES, metavar="FILE")]


def _set_option(help: str, metavar: str) -> OptionInfo:
    option: OptionInfo = typer.Option(
        "--set", help=help, metavar=metavar, autocompletion=completions.settings
    )
    return option


Value = Annotated[
    list[str] | None,
    _set_option("Set a parameter: rtt=10ms (repeatable).", "NAME=VALUE"),
]
Values = Annotated[
    list[str] | None,
    _set_option("Set a parameter, or vary it: rtt=10ms,50ms (repeatable).", "NAME=VALUES"),
]


def cpu_setting(cpu: str | None) -> list[str]:
    """Return the value of --set for that of --cpu."""
    return [] if cpu is None else [f"cpu={cpu}"]


def run_experiment(
    file: ExperimentFile,
    values: Value = None,
    kernel: Kernel = None,
    cpu: Cpu = None,
    traps: Traps = None,
    seed: Seed = 1,
    output: Annotated[
        Path | None,
        folder_option("Write the record to FOLDER as well as to the cache.", "-o", "--output"),
    ] = None,
    no_cache: NoCache = False,
    here: Annotated[
        bool, typer.Option("--here", help="Run in this process, for debuggers and print().")
    ] = False,
    compare_traps: Annotated[
        bool,
        typer.Option(
            "--compare-traps",
            help="Run in ptrace mode and in the kernel's other mode, and compare the records.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment once.

    An experiment is a Python function or YAML file that builds a network and measures it.

    \b
    wanlab run buffers.py --set buffer=2bdp --seed 3
    wanlab run buffers.py --kernel 7.3 --cpu server-2019
    wanlab plot $(wanlab run buffers.py --json | jq -r .record)

    A run with the same source, parameters, seed, kernel and programs as an earlier one is not repeated:
    its result comes from the cache.

    Results do not depend on the mode in which the machine's kernel takes over system calls (--traps).
    --compare-traps checks that: it performs the run in two modes, without the cache, and prints all
    differences between the records.

    Exit status: 0; 1 if the run fails, or if --compare-traps finds a difference.
    """
    from . import sweeps

    raise typer.Exit(
        sweeps.run(
            file,
            values=[*(values or []), *cpu_setting(cpu)],
            seed=seed,
            output=output,
            no_cache=no_cache,
            here=here,
            choice=machine_choice(kernel, traps),
            compares_traps=compare_traps,
            as_json=as_json,
        )
    )


def sweep_experiment(
    file: OptionalExperimentFile = None,
    values: Values = None,
    kernel: Kernel = None,
    cpu: Cpu = None,
    traps: Traps = None,
    repeats: Annotated[
        int | None, number_option("Run each combination of values with this many seeds.", min=1)
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Run the experiment's larger set of parameter values, which takes longer.",
        ),
    ] = False,
    jobs: Jobs = None,
    output: Annotated[
        Path | None,
        folder_option("Keep the results in FOLDER (default: results/NAME).", "-o", "--output"),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat runs that failed.")
    ] = False,
    scheduler: Scheduler = "",
    limit: Annotated[
        float | None,
        typer.Option(
            help="Fail a run that takes longer than this in real time.", metavar="SECONDS"
        ),
    ] = None,
    stop_after: Annotated[
        int,
        number_option(
            "Do not start runs with a value with which this many runs have failed for the same reason; "
            "0 starts all.",
            min=0,
        ),
    ] = 5,
    plots: Annotated[
        list[str] | None,
        typer.Option(
            "--plot",
            help="Draw a figure (lines, heat, box or cdf), such as "
            '"lines goodput over buffer by algorithm" (repeatable).',
            metavar="FIGURE",
        ),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write only the table, no figures and no report.")
    ] = False,
    no_cache: NoCache = False,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Empty the cache, or remove only FILE's results from it."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment with all its parameter values, in parallel.

    \b
    wanlab sweep buffers.py
    wanlab sweep buffers.py --set rtt=10ms,50ms --set algorithm=bbr --repeats 5
    wanlab sweep buffers.py --set kernel=6.12,7.3
    wanlab sweep buffers.py --cpu free,server-2019
    wanlab sweep buffers.py --plot "box goodput over buffer" --plot "cdf goodput by algorithm"
    wanlab sweep buffers.py --scheduler tcp://10.1.2.3:8786

    Finished runs are kept in the results folder. If the sweep was interrupted or killed, or if you add
    values, run it again: finished runs are not repeated.

    Exit status: 0, or 1 if a run failed.
    """
    from . import sweeps

    if forget:
        raise typer.Exit(sweeps.forget(file))
    if file is None:
        raise typer.BadParameter("no experiment given: wanlab sweep FILE")
    raise typer.Exit(
        sweeps.sweep(
            file,
            values=[*(values or []), *cpu_setting(cpu)],
            repeats=repeats,
            full=full,
            jobs=jobs,
            output=output,
            retry_failed=retry_failed,
            scheduler=scheduler,
            limit_s=limit,
            stop_after=stop_after,
            no_cache=no_cache,
            plots=plots or [],
            choice=machine_choice(kernel, traps),
            no_report=no_report,
            as_json=as_json,
        )
    )
