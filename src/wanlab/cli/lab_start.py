"""`wanlab lab start`: the unit's network at your prompt; in tmux, a window for each terminal.

A folder of the computer's is /home/admin in the machine: what is written there stays.
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
from .manner import Manner
from .topologies import one_of

SHELL = "bash --norc --noprofile -i"
SOCKET = "wanlab"


def start(name: str, *, seed: int, clock: str, folder: Path | None, without_tmux: bool) -> int:
    """Returns the exit status of what was at the prompt."""
    one_of("clock", clock, ("virtual", "real"))
    unit = catalog.find(name)
    place = (folder or Path(unit.folder.name)).resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
        student_files.install(place, catalog.with_labs(unit))
    except OSError as error:
        raise WanlabError(
            f"cannot write to {place}: {error.strerror or error}", "name another one with --folder"
        ) from None
    own = student_files.student_topology(place, unit)
    topology = load(own if own.is_file() else unit.topology)
    network = network_of(unit, topology, place, seed=seed, clock=clock)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    uses_tmux = is_terminal and not without_tmux and shutil.which("tmux") is not None
    greeting = _greeting(unit, place, uses_tmux=uses_tmux, is_terminal=is_terminal)
    print(greeting, file=sys.stderr)
    command = tmux(unit, network, greeting) if uses_tmux else list(PROMPT)
    if not topology.nodes:
        print(f"nothing is drawn yet: save a topology as {own} and start again", file=sys.stderr)
    starter = partial(_start, network, student_files.environment(seed))
    return execute.run_in(network, starter, command, Manner(stdin_is_for_prompt=True))


def _start(
    network: Network, variables: dict[str, str], command: list[str], **options: Any
) -> Process:
    """At home, with the variables of the unit's terminals."""
    student_files.link_home(network)
    given = options.pop("environment", None) or {}
    environment = {**variables, **given, "PWD": student_files.HOME}
    return network.root.start(
        command, folder=student_files.HOME, environment=environment, **options
    )


def tmux(unit: Unit, network: Network, greeting: str) -> list[str]:
    """A session inside the machine: the prompt, the client's terminal, one for each host, the lesson. It
    takes the whole screen, so what greets the student has to stand in there, too."""
    folder = student_files.folder_of(unit)
    client = f"cd ~/{shlex.quote(folder)}; PS1='client:\\w$ ' exec {SHELL}" if folder else ""
    client = client or f"PS1='client:\\w$ ' exec {SHELL}"
    # At the host service time would stand still for all windows while a prompt waits.
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


def _greeting(unit: Unit, place: Path, *, uses_tmux: bool, is_terminal: bool) -> str:
    lines = [
        unit.heading,
        f"/home/admin in there is {place}",
        f"the lesson: wanlab lab show {unit.name}",
    ]
    if uses_tmux:
        lines.append(
            "windows of tmux: Ctrl-B and a number, or the mouse; exit at mininet> ends all"
        )
    elif is_terminal:
        lines.append(
            "commands of a host: h1 COMMAND; of the client: sh COMMAND; "
            "a window of its own: xterm h1 (or install tmux)"
        )
    if unit.check:
        lines.append(f"to be graded, type in the client's terminal: wanlab lab check {unit.name}")
    return "\n".join(lines)
