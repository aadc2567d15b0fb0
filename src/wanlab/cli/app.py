"""All commands with their options and help. A command's own imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wanlab import __version__
from wanlab.machine_options import as_lines

from . import completions
from .browser import web
from .capture_verb import WithCommand, capture
from .cpu_verbs import cpu as cpu_commands
from .docs_verb import docs
from .experiment_verbs import run_experiment, sweep_experiment
from .import_verb import import_topology
from .kernel_verbs import kernel as kernel_commands
from .lab_verbs import lab
from .options import (
    Clock,
    Cpu,
    Json,
    OptionalSeed,
    SessionFile,
    WireOption,
    file_option,
    machine_option,
    node_option,
    number_option,
    topology_option,
)
from .passed_on import ALL_ARGUMENTS, PassedOn
from .plot_verb import plot
from .replay_verb import replay
from .reproduce_verb import reproduce
from .test_verb import run_test
from .usage import Commands, GroupedCommands

# \b makes click keep the line breaks of a paragraph.
app = Commands(
    help="""A network laboratory with its own Linux kernel and its own clock.

    \b
    wanlab web                                     draw a network in the browser and run it
    wanlab mn --topo linear,3                      use Mininet's prompt
    wanlab python topology.py                      run a Mininet script
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab test rrul --queue fifo,fq_codel         compare queues with a standard test
    wanlab lab start 14                            do a lab of the course
    wanlab docs                                    read the documentation

    A network runs in a machine: a Linux kernel that wanlab starts as an ordinary process. Time in
    the machine is virtual: it passes as fast as this computer can compute what happens.
    """,
    cls=GroupedCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


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
    context: typer.Context,
    command: Annotated[
        list[str],
        typer.Argument(help="The command and its arguments.", metavar="[--] COMMAND..."),
    ],
    topo: Annotated[
        str | None,
        topology_option("A topology file, or a shape such as single,4 or tree,depth=2,fanout=2."),
    ] = None,
    node: Annotated[
        str | None,
        node_option(
            "Run the command on this host or router (default: the root namespace, with the switches)."
        ),
    ] = None,
    clock: Clock = "virtual",
    wire: WireOption = "mtu",
    cpu: Cpu = None,
    seed: OptionalSeed = None,
    memory: Annotated[str | None, machine_option("memory")] = None,
    session: SessionFile = None,
    kernel: Annotated[str | None, machine_option("kernel")] = None,
    traps: Annotated[str | None, machine_option("traps")] = None,
    keep_files: Annotated[str | None, machine_option("keep-files")] = None,
    no_drops: Annotated[
        bool,
        typer.Option("--no-drops", help="Do not say at the end where the network lost packets."),
    ] = False,
    ipv6: Annotated[
        bool,
        typer.Option(
            "--ipv6", help="Give hosts an IPv6 address, too: fd00::1, fd00::2, ... (ping -6 h2)."
        ),
    ] = False,
    date: Annotated[str | None, machine_option("date")] = None,
    guest_folder: Annotated[str | None, machine_option("guest-folder")] = None,
) -> None:
    """Run a command as root in a new machine, in the current folder.

    \b
    wanlab exec -- uname -a
    wanlab exec --topo single,2 --node h1 -- ping -c 3 h2
    wanlab exec --topo topology.mn -- bash
    wanlab exec --kernel 7.3 -- uname -r
    wanlab exec --seed 7 -- python3 simulate.py < in.txt > out.txt

    With --topo, the command runs in the machine's root namespace, or in a node (--node). Each host or
    router is a network namespace: `ip netns exec h2 COMMAND` runs another command in h2.

    Standard input and output, exit status and Ctrl-C are passed through; if you run it in a terminal,
    the command gets a terminal too. The machine shares the current folder. Other files that the command
    writes are lost when the machine ends; they are named then, and --keep-files keeps them. If a network
    lost packets, the command says at the end where and why (see wanlab drops). Options must come before
    --. With --session, wanlab replay can repeat the session; the file contains everything
    that was typed, including passwords.

    Time in the machine passes as fast as it can be computed, so `sleep 1000` returns at once. In a
    terminal, after your first key press, time never passes faster than real time.

    Exit status: that of the command; 128 + N if signal N ended it; 127 if the command does not exist,
    126 if it is not executable; 1 if the machine cannot start. Press Ctrl-C twice to end the machine.
    """
    from . import execute as command_module
    from .guest_folder import check_guest_folder

    raise typer.Exit(
        command_module.run(
            command,
            topo=topo,
            node=node,
            network_options={
                "clock": clock,
                "wire": wire,
                "cpu": cpu,
                "seed": seed,
                "memory": memory,
                "session": session or False,
                "kernel": kernel,
                "traps": traps,
                "guest_folder": check_guest_folder(guest_folder) if guest_folder else "",
            },
            keep_files=keep_files,
            no_drops=no_drops,
            ipv6=ipv6,
            date=date,
            known=[name for option in context.command.params for name in option.opts],
        )
    )


@app.command("mn", cls=PassedOn, context_settings={**ALL_ARGUMENTS, "help_option_names": []})
def mininet(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(autocompletion=completions.mn_arguments, hidden=True),
    ] = None,
) -> None:
    """Build a network and use it at Mininet's prompt.

    For the options, see: wanlab mn -h

    \b
    wanlab mn
    wanlab mn --topo linear,4 --link tc,bw=10,delay=5ms --test pingall
    """
    from . import inside

    raise typer.Exit(inside.run_mn(arguments or []))


PYTHON_HELP = f"""\
Run a Python script, such as one for Mininet, in a machine.

\b
wanlab python topology.py
wanlab python --clock real --seed 7 experiment.py --rounds 3 > results.txt

It runs as root. Without SCRIPT, Python reads standard input. The script can import Mininet's
modules (from mininet.net import Mininet) and wanlab's. The machine shares the current folder; other
files that the script writes are lost when the machine ends, and named then. sleep(10) takes 10 s of
the machine's time. A link runs at 1 Gbit/s unless it has a `bw`.

\b
OPTIONS, before the script:
{as_lines(98)}
  --strict                      fail instead of warning if something in the script has no effect

Exit status: that of the script.
"""


@app.command(
    "python",
    cls=PassedOn,
    context_settings=ALL_ARGUMENTS,
    options_metavar="[OPTIONS] [SCRIPT [ARGUMENTS]]",
    help=PYTHON_HELP,
)
def python(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(autocompletion=completions.python_arguments, hidden=True),
    ] = None,
) -> None:
    """`PYTHON_HELP` describes it."""
    from . import inside

    raise typer.Exit(inside.run_python(arguments or []))


@app.command("plan")
def plan(
    topology: Annotated[
        str,
        typer.Argument(
            help="A topology file (.mn, .json, .yaml), or a shape such as single,4.",
            metavar="TOPOLOGY",
            autocompletion=completions.topologies,
        ),
    ],
    wire: WireOption = "mtu",
    output: Annotated[
        Path | None,
        file_option(
            "Write to FILE: the script (.sh), a picture (.svg, .pdf), a Mininet script (.py), or "
            "the topology (.mn, .yaml).",
            "-o",
            "--output",
        ),
    ] = None,
) -> None:
    """Print a topology as a shell script that creates it.

    \b
    wanlab plan topology.mn
    wanlab plan dumbbell,pairs=2,rate=10Mbps,delay=20ms
    wanlab plan single,2 | wanlab exec -- bash -e
    wanlab plan topology.mn -o topology.pdf        draw it
    """
    from . import topologies

    if output is not None:
        topologies.write(topology, wire, output)
    else:
        print(topologies.script(topology, wire), end="")


app.command("docs")(docs)
app.command("import")(import_topology)
app.command("plot")(plot)
app.command("replay")(replay)
app.command("capture", cls=WithCommand)(capture)


@app.command("drops")
def drops(as_json: Json = False) -> None:
    """Show where packets were lost in this network, and why.

    \b
    wanlab drops                                     in a terminal inside a network
    wanlab exec --topo TOPOLOGY -- sh -c './experiment.sh; wanlab drops'
    h1 wanlab drops                                  at the prompt of wanlab mn

    It lists all queues, interfaces and nodes whose kernel counted lost packets since the network began,
    with the cause and what to change. In Python: wanlab.drops(net).
    """
    from . import drops as command_module

    raise typer.Exit(command_module.run(as_json=as_json))


@app.command("top")
def top(
    batch: Annotated[
        bool, typer.Option("-b", "--batch", help="Print snapshots one after another, for pipes.")
    ] = False,
    times: Annotated[
        int | None, number_option("End after this many snapshots.", "-n", "--times")
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
            autocompletion=completions.one_of(
                "throughput", "backlog", "drops", "window", "rtt", "name"
            ),
        ),
    ] = "throughput",
    idle: Annotated[
        bool, typer.Option("-i", "--idle", help="Show idle ports and flows too.")
    ] = False,
) -> None:
    """Show the ports and flows of the network in which you run it.

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


app.command("run")(run_experiment)
app.command("sweep")(sweep_experiment)
app.command("test")(run_test)
app.add_typer(reproduce, name="reproduce")
app.add_typer(lab, name="lab")
app.add_typer(kernel_commands, name="kernel")
app.add_typer(cpu_commands, name="cpu")


@app.command("doctor")
def doctor(as_json: Json = False) -> None:
    """Check whether this computer can run wanlab.

    It lists what is missing, and how to install it.

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
    """Remove what killed runs have left behind, and nothing else.

    \b
    wanlab clean --dry-run

    Machines end with the program that started them, so there is rarely more to remove than a
    temporary folder of a replay or a grading run. wanlab removes only processes and files that it
    recorded when it created them; it never selects them by name. The program that created them must
    have ended. Results whose names end in .partial are measurements and are kept.
    """
    from . import clean as command_module

    raise typer.Exit(command_module.run(dry_run=dry_run))


@app.command("version")
def version() -> None:
    """Print the version, as --version does."""
    print(f"wanlab {__version__}")


@app.command("help")
def help_on(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="A command, such as lab run.", metavar="[COMMAND]"),
    ] = None,
) -> None:
    """Print the help of wanlab or of a command.

    \b
    wanlab help
    wanlab help lab run
    """
    app([*(words or []), "--help"], prog_name="wanlab")
