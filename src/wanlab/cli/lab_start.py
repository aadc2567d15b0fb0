"""`wanlab lab start`: runs a unit's network with a prompt; with tmux, a window for each terminal.

A folder of this computer is /home/admin in the machine, so files that are written there are kept.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from wanlab import Network, Process, load
from wanlab.errors import WanlabError
from wanlab.labs import catalog, student_files
from wanlab.labs.lab_network import network_of
from wanlab.labs.prompt import COMMAND as PROMPT
from wanlab.labs.unit import Unit

from . import execute
from .exec_options import ExecOptions
from .topologies import one_of

SHELL = "bash --norc --noprofile -i"
SOCKET = "wanlab"


def start(name: str, *, seed: int, clock: str, folder: Path | None, without_tmux: bool) -> int:
    """Start a unit's network; return the exit status of its prompt."""
    one_of("clock", clock, ("virtual", "real"))
    unit = catalog.find(name)
    home = (folder or Path(unit.folder.name)).resolve()
    try:
        home.mkdir(parents=True, exist_ok=True)
        student_files.install(home, catalog.with_labs(unit))
    except OSError as error:
        raise WanlabError(
            f"cannot write to {home}: {error.strerror or error}", "use another folder with --folder"
        ) from None
    drawn = student_files.student_topology(home, unit)
    topology = load(drawn if drawn.is_file() else unit.topology)
    network = network_of(unit, topology, home, seed=seed, clock=clock)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    uses_tmux = is_terminal and not without_tmux and shutil.which("tmux") is not None
    greeting = _greeting(unit, home, uses_tmux=uses_tmux, is_terminal=is_terminal)
    print(greeting, file=sys.stderr)
    command = tmux(unit, network, greeting) if uses_tmux else list(PROMPT)
    if not topology.nodes:
        print(f"the network is empty: save a topology as {drawn} and start again", file=sys.stderr)
    starter = partial(_start, network, student_files.environment(seed))
    return execute.run_in(network, starter, command, ExecOptions(stdin_is_for_prompt=True))


def _start(
    network: Network, variables: dict[str, str], command: list[str], **options: Any
) -> Process:
    """Start a command in the home folder, with the variables of the unit's terminals."""
    student_files.link_home(network)
    more = options.pop("environment", None) or {}
    environment = {**variables, **more, "PWD": student_files.HOME}
    return network.root.start(
        command, folder=student_files.HOME, environment=environment, **options
    )


def tmux(unit: Unit, network: Network, greeting: str) -> list[str]:
    """Return the command of a tmux session: the prompt, the client, each host, and the lesson.

    tmux uses the whole screen, so the greeting is shown in it as well.
    """
    folder = student_files.folder_of(unit)
    client = f"cd ~/{shlex.quote(folder)}; PS1='client:\\w$ ' exec {SHELL}" if folder else ""
    client = client or f"PS1='client:\\w$ ' exec {SHELL}"
    # A prompt that uses the host service would stop time in all windows while it waits.
    prompt = f"echo {shlex.quote(greeting)}; env -u WANLAB_PROMPT {shlex.join(PROMPT)}"
    prompt += f"; tmux -L {SOCKET} kill-session"
    windows: list[tuple[str, str]] = [("mininet", prompt), ("client", client)]
    hosts = [*network.topology.hosts, *network.topology.routers]
    windows += [(host.name, f"wanlab-node {host.name}") for host in hosts]
    windows += [("lesson", f"PAGER='less -R' wanlab lab show {unit.name}; exec {SHELL}")]
    words = ["tmux", "-L", SOCKET, "-f", "/dev/null"]
    for number, (title, command) in enumerate(windows):
        if number:
            words += [";", "new-window", "-d", "-n", title, command]
        else:
            words += ["new-session", "-s", unit.name, "-n", title, command]
    return [*words, ";", "set", "-g", "mouse", "on", ";", "set", "-g", "status-right", ""]


def _greeting(unit: Unit, home: Path, *, uses_tmux: bool, is_terminal: bool) -> str:
    lines = [
        unit.heading,
        f"/home/admin in the network is your folder {home}",
        f"the lesson: wanlab lab show {unit.name}",
    ]
    if uses_tmux:
        lines.append(
            "switch tmux windows with Ctrl-B and a number, or the mouse; exit at mininet> ends all"
        )
    elif is_terminal:
        lines.append(
            "run a command on a host: h1 COMMAND; on the client: sh COMMAND; "
            "in a separate window: xterm h1 (or install tmux)"
        )
    if unit.check:
        lines.append(
            f"to have your work graded, type in the client's terminal: wanlab lab check {unit.name}"
        )
    return "\n".join(lines)
