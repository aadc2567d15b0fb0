"""All verbs, with their options and help. Nothing else is imported until a verb runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from wanlab import __version__

from .browser import web
from .lab_verbs import lab
from .options import Json, Seed, WireOption

# \b keeps the lines of a block as they are.
app = typer.Typer(
    help="""A network laboratory with its own Linux kernel and its own clock.

    \b
    wanlab kernel build                            once: the kernel that everything runs in
    wanlab lab run 14                              a lab of the course
    wanlab mn --topo linear,3                      Mininet's command and its prompt
    wanlab python topology.py                      a Mininet script
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab plan topology.mn                        the same network, as a shell script
    wanlab plot results/RUN/RECORD                 figures of what was measured
    wanlab sweep buffers.py                        an experiment with all its values, on all cores
    wanlab doctor                                  what this computer has, and what it lacks
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
kernel = typer.Typer(
    help="The kernel of the embedded machine.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(lab, name="lab")
app.add_typer(kernel, name="kernel")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"wanlab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Options for every verb."""


app.command()(web)


@app.command("exec", context_settings={"allow_extra_args": False, "ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(help="The command, after --.", metavar="COMMAND")],
    topo: Annotated[
        Optional[str],  # noqa: UP045  (typer reads the annotation at run time)
        typer.Option(
            help="A topology file, or a shape: single,4 or tree,depth=2,fanout=2.",
            metavar="TOPOLOGY",
        ),
    ] = None,
    node: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="The host or router where it runs; otherwise where the switches are.",
            metavar="NODE",
        ),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(
            help="embedded (a kernel of its own) or native (this computer's, in fresh namespaces).",
            metavar="MACHINE",
        ),
    ] = "embedded",
    clock: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="virtual (as fast as it can be computed; equal runs are equal) or real.",
            metavar="CLOCK",
        ),
    ] = None,
    wire: WireOption = "mtu",
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, help="Of all random numbers in the machine.", metavar="NUMBER"),
    ] = None,
) -> None:
    """Run a command as root in a fresh machine, in your working folder.

    \b
    wanlab exec -- uname -a
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab exec --topo topology.mn -- bash
    wanlab exec --seed 7 -- python3 simulate.py < in.txt > out.txt

    Standard input and output, exit status and Ctrl-C are passed through; on a terminal the command has
    one, too. The working folder is shared; whatever else is written is gone with the machine (not with
    the native one, whose files are this computer's). Options come before --.

    Time in the machine passes as fast as it can be computed: `sleep 1000` returns at once. On a
    terminal it is never faster than the real clock from your first key on.

    Exit status: the command's; 128 + N if signal N ended it; 127 if there is no such command, 126 if it
    may not be executed; 1 if there is no machine. A second Ctrl-C soon after the first ends the machine.
    """
    from . import execute as verb

    raise typer.Exit(
        verb.run(command, topo=topo, node=node, machine=machine, clock=clock, wire=wire, seed=seed)
    )


# Passed on word by word.
RAW = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


@app.command("mn", context_settings={**RAW, "help_option_names": []})
def mininet(context: typer.Context) -> None:
    """Make a network as Mininet's mn does, and use it at its prompt: `wanlab mn -h`.

    \b
    wanlab mn
    wanlab mn --topo linear,4 --link tc,bw=10,delay=5ms --test pingall
    """
    from . import inside

    raise typer.Exit(inside.run_mn(context.args))


@app.command("python", context_settings=RAW, options_metavar="[MACHINE] [SCRIPT [ARGUMENTS]]")
def python(context: typer.Context) -> None:
    """Run a Python script, a Mininet script for example, as root in a fresh machine.

    \b
    wanlab python topology.py
    wanlab python --clock real --seed 7 experiment.py --rounds 3 > results.txt

    It finds Mininet's modules (from mininet.net import Mininet) and wanlab's. What it reads and writes
    is in your working folder; whatever else it writes is gone with the machine. sleep(10) in it passes
    10 s of the machine's time. Links are cables of 1 Gbit/s unless they have a bw of their own.

    \b
    MACHINE, before the script:
      --clock virtual|real        as fast as it can be computed, equal runs equal; or the computer's
      --machine embedded|native   a kernel of its own; or this computer's, in fresh namespaces
      --pace fast|real            real: never faster than your watch
      --wire mtu|gso              as a real wire; or packets up to 64 KB, as plain veth (faster)
      --seed NUMBER               of all random numbers in the machine
      --line-rate RATE            of a cable (1Gbps)
      --memory SIZE               of the machine
      --allow-connect ADDRESS:PORT
                              where it may connect to on your computer: a controller, for example

    Exit status: the script's.
    """
    from . import inside

    raise typer.Exit(inside.run_python(context.args))


@app.command("plan")
def plan(
    topology: Annotated[
        str,
        typer.Argument(
            help="A topology file (.mn, .json, .yaml), or a shape: single,4.", metavar="TOPOLOGY"
        ),
    ],
    wire: WireOption = "mtu",
) -> None:
    """Print a shell script that makes the topology by hand.

    \b
    wanlab plan topology.mn
    wanlab plan dumbbell,pairs=2,rate=10Mbps,delay=20ms
    wanlab plan single,2 | wanlab exec -- bash -e
    """
    from . import topologies

    print(topologies.script(topology, wire), end="")


@app.command("plot")
def plot(
    records: Annotated[list[str], typer.Argument(help="Folders of records.", metavar="RECORD...")],
    what: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="What to draw: rtt,queue or TABLE.COLUMN. Otherwise all that is usually drawn.",
            metavar="NAMES",
        ),
    ] = None,
    port: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Only this port's lines; may be said several times.", metavar="PORT"),
    ] = None,
    cdf: Annotated[
        bool, typer.Option("--cdf", help="Distributions instead of time series.")
    ] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="Runs beside each other, not in one panel.")
    ] = False,
    title: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Above the figure.", metavar="TEXT"),
    ] = None,
    output: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "-o", "--output", help="FILE.pdf, .svg or .png; otherwise RECORD.pdf.", metavar="FILE"
        ),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="Say what the records have, draw nothing.")
    ] = False,
) -> None:
    """Draw records: throughput, RTT, congestion window, queue, drops and more over time.

    \b
    wanlab plot results/lab14-seed1-3f2a9c01/1-bdp
    wanlab plot 1-bdp 10-bdp --what rtt,queue -o buffers.pdf
    wanlab plot 1-bdp --cdf --what rtt -o rtt.svg
    wanlab plot 1-bdp --list

    Several records are drawn into the same panels. What a record warns of stands below the figure.
    """
    from . import figures

    if only_list:
        raise typer.Exit(figures.show_list(records))
    raise typer.Exit(
        figures.run(
            records,
            what=what,
            ports=port or (),
            as_distribution=cdf,
            columns=columns,
            title=title,
            output=output,
        )
    )


@app.command("top")
def top(
    batch: Annotated[
        bool, typer.Option("-b", "--batch", help="Print one look after the other, for pipes.")
    ] = False,
    times: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-n", "--times", help="End after so many looks.", metavar="NUMBER"),
    ] = None,
    delay: Annotated[
        float, typer.Option("-d", "--delay", help="Between two looks, in s.", metavar="SECONDS")
    ] = 1.0,
    sort: Annotated[
        str,
        typer.Option(
            "-o",
            "--sort",
            help="throughput, backlog, drops, window, rtt or name.",
            metavar="BY",
        ),
    ] = "throughput",
    idle: Annotated[bool, typer.Option("-i", "--idle", help="Show what is idle, too.")] = False,
) -> None:
    """Watch ports and flows of the network that this runs in, as top does with processes.

    \b
    wanlab top                                     in a terminal inside a network
    wanlab exec --topo single,2 -- wanlab top -b -n 3
    h1 wanlab top -b -n 1                          at the prompt of wanlab mn

    It shows all nodes, whichever it runs in. Keys: t b d w r n sort by throughput, backlog, drops,
    congestion window, RTT, name; i shows idle ones, too; q quits.
    """
    from . import top_terminal

    raise typer.Exit(
        top_terminal.run(batch=batch, times=times, every_s=delay, sort=sort, idle=idle)
    )


ExperimentFile = Annotated[
    str,
    typer.Argument(help="FILE.py, FILE.py:NAME or FILE.yaml; see docs/sweeps.md.", metavar="FILE"),
]
Values = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--set", help="Values of a parameter: rtt=10ms,50ms.", metavar="NAME=VALUES"),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Perform also what is known, and keep nothing for later.")
]


@app.command("run")
def run_experiment(
    file: ExperimentFile,
    values: Values = None,
    seed: Seed = 1,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Where its record is written, too.", metavar="FOLDER"),
    ] = None,
    no_cache: NoCache = False,
    here: Annotated[
        bool, typer.Option("--here", help="In this process, for a debugger and its prints.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Perform one run of an experiment.

    \b
    wanlab run buffers.py --set buffer=2bdp --seed 3
    wanlab plot $(wanlab run buffers.py --json | jq -r .record)

    What has run before, with the same source, parameters, seed, kernel and programs, is known.
    """
    from . import sweeps

    raise typer.Exit(
        sweeps.run(
            file,
            values=values or [],
            seed=seed,
            output=output,
            no_cache=no_cache,
            here=here,
            as_json=as_json,
        )
    )


@app.command("sweep")
def sweep_experiment(
    file: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            help="FILE.py, FILE.py:NAME or FILE.yaml; see docs/sweeps.md.", metavar="FILE"
        ),
    ] = None,
    values: Values = None,
    repeats: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Seeds of each point.", metavar="NUMBER"),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The experiment's full design, for who has the time.")
    ] = False,
    jobs: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-j", "--jobs", min=1, help="Runs at once (one per CPU).", metavar="NUMBER"),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Where all is kept (results/NAME).", metavar="FOLDER"),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Perform again what has failed.")
    ] = False,
    scheduler: Annotated[
        str, typer.Option(help="Of a Dask cluster that performs the runs.", metavar="ADDRESS")
    ] = "",
    limit: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Real time that a run may take; then it fails.", metavar="SECONDS"),
    ] = None,
    plots: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--plot", help='"lines goodput over buffer by algorithm".', metavar="FIGURE"),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Only the table, no figures and no page.")
    ] = False,
    no_cache: NoCache = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Empty the cache, or what it has of FILE.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Perform an experiment with all values of its design, side by side.

    \b
    wanlab sweep buffers.py
    wanlab sweep buffers.py --set rtt=10ms,50ms --set algorithm=bbr --repeats 5
    wanlab sweep buffers.py --plot "box goodput over buffer" --plot "cdf goodput by algorithm"
    wanlab sweep buffers.py --scheduler tcp://10.1.2.3:8786

    Runs that have ended are kept in the folder of results: interrupted, killed or extended by more
    values, the same command goes on from there. Figures: lines, heat, box, cdf.

    Exit status: 0; 1 if a run has failed.
    """
    from . import sweeps

    if forget:
        raise typer.Exit(sweeps.forget(file))
    if file is None:
        raise typer.BadParameter("an experiment is missing: wanlab sweep FILE")
    raise typer.Exit(
        sweeps.sweep(
            file,
            values=values or [],
            repeats=repeats,
            full=full,
            jobs=jobs,
            output=output,
            retry_failed=retry_failed,
            scheduler=scheduler,
            limit_s=limit,
            no_cache=no_cache,
            plots=plots or [],
            no_report=no_report,
            as_json=as_json,
        )
    )


@kernel.command(
    "build",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def kernel_build(context: typer.Context) -> None:
    """Build the kernel, unless it has been built."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["build", *context.args]))


@kernel.command(
    "info",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def kernel_info(context: typer.Context) -> None:
    """Say what the kernel is made of and where it is."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["info", *context.args]))


@app.command("doctor")
def doctor(as_json: Json = False) -> None:
    """Say what this computer has of what machines need, and what to do about the rest.

    \b
    wanlab doctor
    wanlab doctor --json

    It tries what can be tried: it boots a machine, and asks this computer's kernel for each queueing
    discipline and TCP algorithm (which may load modules).

    Exit status: 0 if the embedded machine, which is the default, can run; otherwise 1.
    """
    from . import doctor as verb

    raise typer.Exit(verb.run(as_json=as_json))


@app.command("clean")
def clean(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
) -> None:
    """Remove what killed runs have left, and nothing else.

    \b
    wanlab clean --dry-run

    Machines end with the program that started them, so there is hardly ever anything. What is removed
    is known by what was noted when it began, never by its name. Results that end in .partial are
    measurements and are kept.
    """
    from . import clean as verb

    raise typer.Exit(verb.run(dry_run=dry_run))
