"""All commands with their options and help. A command's own imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from wanlab import __version__

from .browser import web
from .lab_verbs import lab
from .options import Json, Seed, WireOption

# \b makes click keep the line breaks of a paragraph.
app = typer.Typer(
    help="""A network laboratory with its own Linux kernel and its own clock.

    \b
    wanlab kernel build                            build the kernel (once)
    wanlab lab run 14                              run a lab of the course
    wanlab mn --topo linear,3                      use Mininet's prompt
    wanlab python topology.py                      run a Mininet script
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab plan topology.mn                        print a network as a shell script
    wanlab plot results/RUN/RECORD                 draw what was measured
    wanlab sweep buffers.py                        run an experiment with all its values
    wanlab doctor                                  check what this computer needs
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
kernel = typer.Typer(
    help="Build or show the kernel of the embedded machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(lab, name="lab")
app.add_typer(kernel, name="kernel")


def _version(is_requested: bool) -> None:
    if is_requested:
        print(f"wanlab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of every command."""


app.command()(web)


@app.command("exec", context_settings={"allow_extra_args": False, "ignore_unknown_options": True})
def execute(
    command: Annotated[
        list[str],
        typer.Argument(help="The command and its arguments, after --.", metavar="COMMAND"),
    ],
    topo: Annotated[
        Optional[str],  # noqa: UP045  (typer reads the annotation at run time)
        typer.Option(
            help="A topology file, or a shape such as single,4 or tree,depth=2,fanout=2.",
            metavar="TOPOLOGY",
        ),
    ] = None,
    node: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="The host or router to run it on (default: the root namespace, with the switches).",
            metavar="NODE",
        ),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(
            help="embedded (its own kernel) or native (this computer's kernel, in new namespaces).",
            metavar="MACHINE",
        ),
    ] = "embedded",
    clock: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="virtual (as fast as possible, repeatable) or real (default: that of the machine).",
            metavar="CLOCK",
        ),
    ] = None,
    wire: WireOption = "mtu",
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, help="Seed of all random numbers in the machine.", metavar="NUMBER"),
    ] = None,
) -> None:
    """Run a command as root in a new machine, in the current folder.

    \b
    wanlab exec -- uname -a
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab exec --topo topology.mn -- bash
    wanlab exec --seed 7 -- python3 simulate.py < in.txt > out.txt

    Standard input and output, exit status and Ctrl-C are passed through; if you run it in a terminal,
    the command gets a terminal too. The machine shares the current folder. Other files that the command
    writes are lost when the machine ends, except on the native machine, which uses this computer's
    files. Options must come before --.

    Time in the machine passes as fast as it can be computed, so `sleep 1000` returns at once. In a
    terminal, time is never faster than a real clock after you press the first key.

    Exit status: that of the command; 128 + N if signal N ended it; 127 if the command does not exist,
    126 if it is not executable; 1 if the machine cannot start. Press Ctrl-C twice to end the machine.
    """
    from . import execute as command_module

    raise typer.Exit(
        command_module.run(
            command, topo=topo, node=node, machine=machine, clock=clock, wire=wire, seed=seed
        )
    )


# All arguments are passed on unchanged.
RAW = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


@app.command("mn", context_settings={**RAW, "help_option_names": []})
def mininet(context: typer.Context) -> None:
    """Build a network and use it at Mininet's prompt.

    For the options, see: wanlab mn -h

    \b
    wanlab mn
    wanlab mn --topo linear,4 --link tc,bw=10,delay=5ms --test pingall
    """
    from . import inside

    raise typer.Exit(inside.run_mn(context.args))


@app.command("python", context_settings=RAW, options_metavar="[MACHINE] [SCRIPT [ARGUMENTS]]")
def python(context: typer.Context) -> None:
    """Run a Python script, such as a Mininet script, in a new machine.

    \b
    wanlab python topology.py
    wanlab python --clock real --seed 7 experiment.py --rounds 3 > results.txt

    It runs as root. The script can import Mininet's modules (from mininet.net import Mininet) and
    wanlab's. The machine shares the current folder; other files that the script writes are lost when
    the machine ends. sleep(10) passes 10 s of the machine's time. A link is a cable of 1 Gbit/s unless
    it has a `bw`.

    \b
    MACHINE options, before the script:
      --clock virtual|real        as fast as possible and repeatable, or real time (virtual)
      --machine embedded|native   its own kernel, or this computer's in new namespaces (embedded)
      --pace fast|real            with real, time is never faster than a real clock (fast)
      --wire mtu|gso              packets as on a real wire, or up to 64 KB, which is faster (mtu)
      --seed NUMBER               seed of all random numbers in the machine (1)
      --line-rate RATE            speed of a cable (1Gbps)
      --memory SIZE               memory of the machine, such as 4GB
      --allow-connect ADDRESS:PORT   allow it to connect there on your computer (to a controller)

    Exit status: that of the script.
    """
    from . import inside

    raise typer.Exit(inside.run_python(context.args))


@app.command("plan")
def plan(
    topology: Annotated[
        str,
        typer.Argument(
            help="A topology file (.mn, .json, .yaml), or a shape such as single,4.",
            metavar="TOPOLOGY",
        ),
    ],
    wire: WireOption = "mtu",
) -> None:
    """Print a topology as a shell script that creates it.

    \b
    wanlab plan topology.mn
    wanlab plan dumbbell,pairs=2,rate=10Mbps,delay=20ms
    wanlab plan single,2 | wanlab exec -- bash -e
    """
    from . import topologies

    print(topologies.script(topology, wire), end="")


@app.command("plot")
def plot(
    records: Annotated[list[str], typer.Argument(help="The folders of records.", metavar="RECORD")],
    what: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Quantities to draw: rtt,queue or TABLE.COLUMN (default: the usual ones).",
            metavar="NAMES",
        ),
    ] = None,
    port: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Draw only this port (repeatable).", metavar="PORT"),
    ] = None,
    cdf: Annotated[
        bool, typer.Option("--cdf", help="Draw distributions instead of time series.")
    ] = False,
    columns: Annotated[
        bool,
        typer.Option(
            "--columns", help="Draw the records side by side instead of in the same panels."
        ),
    ] = False,
    title: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Title of the figure.", metavar="TEXT"),
    ] = None,
    output: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "-o",
            "--output",
            help="Write to FILE (.pdf, .svg, .png; default: RECORD.pdf).",
            metavar="FILE",
        ),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="List what the records contain and draw nothing.")
    ] = False,
) -> None:
    """Draw figures of records.

    They show throughput, RTT, congestion window, queue, drops and more over time.

    \b
    wanlab plot results/lab14-seed1-3f2a9c01/1-bdp
    wanlab plot 1-bdp 10-bdp --what rtt,queue -o buffers.pdf
    wanlab plot 1-bdp --cdf --what rtt -o rtt.svg
    wanlab plot 1-bdp --list

    Several records are drawn in the same panels. Warnings of a record are printed below the figure.
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
        bool, typer.Option("-b", "--batch", help="Print snapshots one after another, for pipes.")
    ] = False,
    times: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-n", "--times", help="End after this many snapshots.", metavar="NUMBER"),
    ] = None,
    delay: Annotated[
        float, typer.Option("-d", "--delay", help="Interval between snapshots.", metavar="SECONDS")
    ] = 1.0,
    sort: Annotated[
        str,
        typer.Option(
            "-o",
            "--sort",
            help="Sort by throughput, backlog, drops, window, rtt or name.",
            metavar="BY",
        ),
    ] = "throughput",
    idle: Annotated[
        bool, typer.Option("-i", "--idle", help="Show idle ports and flows too.")
    ] = False,
) -> None:
    """Show ports and flows of the network that this runs in.

    \b
    wanlab top                                     in a terminal inside a network
    wanlab exec --topo single,2 -- wanlab top -b -n 3
    h1 wanlab top -b -n 1                          at the prompt of wanlab mn

    It shows all nodes, no matter on which node it runs. Keys: t, b, d, w, r and n sort by throughput,
    backlog, drops, congestion window, RTT and name; i shows idle ports and flows too; q quits.
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
    typer.Option(
        "--set", help="Set a parameter: rtt=10ms,50ms (repeatable).", metavar="NAME=VALUES"
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither use cached results nor cache new ones.")
]


@app.command("run")
def run_experiment(
    file: ExperimentFile,
    values: Values = None,
    seed: Seed = 1,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Also write the record to FOLDER.", metavar="FOLDER"),
    ] = None,
    no_cache: NoCache = False,
    here: Annotated[
        bool, typer.Option("--here", help="Run in this process, for debuggers and print().")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment once.

    \b
    wanlab run buffers.py --set buffer=2bdp --seed 3
    wanlab plot $(wanlab run buffers.py --json | jq -r .record)

    A run with the same source, parameters, seed, kernel and programs as an earlier one is not repeated:
    its result comes from the cache.
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
        typer.Option(min=1, help="Run each point with this many seeds.", metavar="NUMBER"),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Run the experiment's larger design, which takes longer.")
    ] = False,
    jobs: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "-j", "--jobs", min=1, help="Runs in parallel (default: one per CPU).", metavar="NUMBER"
        ),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Keep the results in FOLDER (default: results/NAME).", metavar="FOLDER"),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat runs that failed.")
    ] = False,
    scheduler: Annotated[
        str, typer.Option(help="Use the Dask cluster of this scheduler.", metavar="ADDRESS")
    ] = "",
    limit: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Let a run fail that takes longer in real time.", metavar="SECONDS"),
    ] = None,
    plots: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--plot",
            help='Draw this: "lines goodput over buffer by algorithm" (repeatable).',
            metavar="FIGURE",
        ),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write only the table, no figures and no report.")
    ] = False,
    no_cache: NoCache = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Empty the cache, or only its results of FILE.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment with all values of its design, in parallel.

    \b
    wanlab sweep buffers.py
    wanlab sweep buffers.py --set rtt=10ms,50ms --set algorithm=bbr --repeats 5
    wanlab sweep buffers.py --plot "box goodput over buffer" --plot "cdf goodput by algorithm"
    wanlab sweep buffers.py --scheduler tcp://10.1.2.3:8786

    Finished runs are kept in the results folder. If the sweep was interrupted or killed, or if you add
    values, the same command resumes from there. Kinds of figures: lines, heat, box, cdf.

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
    """Build the kernel, unless it exists already."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["build", *context.args]))


@kernel.command(
    "verify",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def kernel_verify(context: typer.Context) -> None:
    """Say whether a kernel image is the one that the recipe makes."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["verify", *context.args]))


@kernel.command(
    "info",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "help_option_names": [],
    },
)
def kernel_info(context: typer.Context) -> None:
    """Show what the kernel was built from and where it is."""
    from . import kernels

    raise typer.Exit(kernels.run_recipe(["info", *context.args]))


@app.command("doctor")
def doctor(as_json: Json = False) -> None:
    """Check whether this computer has what machines need.

    What is missing is listed with the way to install it.

    \b
    wanlab doctor
    wanlab doctor --json

    It boots a machine, and tries each queueing discipline and TCP algorithm in this computer's kernel,
    which may load modules.

    Exit status: 0 if the embedded machine, which is the default, can run; otherwise 1.
    """
    from . import doctor as command_module

    raise typer.Exit(command_module.run(as_json=as_json))


@app.command("clean")
def clean(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
) -> None:
    """Remove what killed runs have left, and nothing else.

    \b
    wanlab clean --dry-run

    Machines end with the program that started them, so there is rarely anything to remove. Only
    processes and files that wanlab noted when it created them are removed, never by name. Results whose
    names end in .partial are measurements and are kept.
    """
    from . import clean as command_module

    raise typer.Exit(command_module.run(dry_run=dry_run))
