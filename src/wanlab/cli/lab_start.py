"""`wanlab lab start`: runs a unit's network with a prompt; with tmux, a window for each terminal.

A folder of this computer is /home/admin in the machine, so files that are written there are kept.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from wanlab import Network, Process, load
from wanlab.errors import WanlabError
from wanlab.labs import catalog, hand_in, start_at, student_files, unit_file
from wanlab.labs.lab_network import network_of
from wanlab.labs.prompt import COMMAND as PROMPT
from wanlab.labs.start_at import StartedUnit
from wanlab.labs.unit import CLIENT, Unit
from wanlab.network import NO_CHOICE, MachineChoice, parse_start_jitter
from wanlab.shared_folder import SharedFolder, file_error, output_folder

from . import execute
from .exec_options import ExecOptions
from .progress import Progress

SHELL = "bash --norc --noprofile -i"
SOCKET = "wanlab"
# tmux treats keys that follow each other within a millisecond as pasted text, and then passes Ctrl-B 3
# to the shell. In virtual time, which stands still at times, all keys come that fast.
TMUX_OPTIONS = {"mouse": "on", "status-right": "", "assume-paste-time": "0"}
STARTING = "the network starts, which takes some seconds, or a minute on a busy computer ..."
LOGS = f"{student_files.HOME}/{hand_in.TRANSCRIPTS}"
# After each command: its exit status, the terminal (from its prompt), and its line of the history.
NOTE_COMMAND = (
    '__status=$?; printf \'%s\\t%s\\t%s\\n\' "$__status" "${PS1%%:*}" "$(history 1)"'
    f" >> {LOGS}/{hand_in.COMMANDS}"
)


def start(
    name: str,
    *,
    seed: int | None,
    clock: str,
    folder: Path | None,
    without_tmux: bool,
    units: Path | None = None,
    at: int | None = None,
    start_jitter: str | None = None,
    pace: str | None = None,
    choice: MachineChoice = NO_CHOICE,
) -> int:
    """Start a unit's network and its prompt; return the exit status of the prompt.

    With `at`, all steps before that step are performed first. Raises WanlabError if the folder for
    the student's files cannot be written.
    """
    jitter_ns = parse_start_jitter(start_jitter)
    if pace == "fast" and clock == "real":
        raise WanlabError("--pace fast needs the virtual clock", "leave out --clock real")
    unit = catalog.find(name, units)
    seed = unit.seed if seed is None else seed
    unit = unit_file.for_seed(unit, seed)
    if at is not None:
        start_at.steps_before(unit, at)  # before any file is written
    home = output_folder(folder or Path(unit.folder.name))
    _install_files(home, unit)
    home = SharedFolder(home.path.resolve())
    session = hand_in.new_session(home) if clock == "virtual" else None
    if at is not None:
        started = _start_at(
            unit,
            at,
            home.path,
            seed=seed,
            clock=clock,
            session=session,
            start_jitter_ns=jitter_ns,
            choice=choice,
        )
        network = started.network
    else:
        started = None
        is_drawn = home.has_file(student_files.student_topology(unit))
        topology = load(_drawn_topology(home, unit) if is_drawn else unit.topology)
        network = network_of(
            unit,
            topology,
            home.path,
            seed=seed,
            clock=clock,
            choice=choice,
            visible_folders=[unit.folder.absolute().parent] if unit.own_name else [],
        )
        if session is not None:
            network.session.record(session)
    with network if started is not None else nullcontext():
        variables = student_files.environment(seed, jitter_ns)
        return _run(unit, network, started, home, variables, without_tmux=without_tmux, pace=pace)


def _drawn_topology(home: SharedFolder, unit: Unit) -> Path:
    return home.path / student_files.student_topology(unit)


def _install_files(home: SharedFolder, unit: Unit) -> None:
    """Write the files that a unit begins with. WanlabError if the folder cannot be written."""
    try:
        home.make()
        student_files.install(home, catalog.with_labs(unit))
        transcripts = home.subfolder(hand_in.TRANSCRIPTS).make()
        for written_outside in (hand_in.PROMPT, hand_in.COMMANDS):
            # A replay has only the files that existed at the start.
            transcripts.append(written_outside, b"")
    except OSError as error:
        raise file_error("write to", home.path, error, "use another folder with --folder") from None


def _start_at(
    unit: Unit,
    at: int,
    home: Path,
    *,
    seed: int,
    clock: str,
    session: Path | None,
    start_jitter_ns: int,
    choice: MachineChoice,
) -> StartedUnit:
    progress = Progress()
    try:
        return start_at.start_at(
            unit,
            at,
            home,
            seed=seed,
            clock=clock,
            session=session,
            say=progress.say,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
    finally:
        progress.end()


def _run(
    unit: Unit,
    network: Network,
    started: StartedUnit | None,
    home: SharedFolder,
    variables: Mapping[str, str],
    *,
    without_tmux: bool,
    pace: str | None,
) -> int:
    """Run the prompt, or tmux; return its exit status."""
    topology = network.topology
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    uses_tmux = is_terminal and not without_tmux and shutil.which("tmux") is not None
    greeting = _greeting(unit, home.path, uses_tmux=uses_tmux, is_terminal=is_terminal)
    if started is not None:
        greeting = "\n".join([greeting, *_state(started)])
    print(greeting, file=sys.stderr)
    if is_terminal and started is None:
        print(STARTING, file=sys.stderr)
    folders = started.folders if started is not None else {}
    command = tmux(unit, network, greeting, folders) if uses_tmux else list(PROMPT)
    if not topology.nodes:
        print(
            f"the network is empty: save a topology as {_drawn_topology(home, unit)} and start again",
            file=sys.stderr,
        )
    variables = {**variables, "PROMPT_COMMAND": NOTE_COMMAND}
    transcripts = Transcripts(home, [node.name for node in topology.nodes])
    starter = partial(_start, network, variables, None if uses_tmux else transcripts)
    options = ExecOptions(
        paces_to_real=pace == "real",
        hurries=pace == "fast" and uses_tmux,
        stdin_is_for_prompt=True,
        on_line=transcripts.note_line,
    )
    return execute.run_in(network, starter, command, options)


def _start(
    network: Network,
    variables: dict[str, str],
    transcripts: Transcripts | None,
    command: list[str],
    **options: Any,
) -> Process:
    """Start a command in the home folder, with the variables of the unit's terminals.

    Its output is appended to the prompt's transcript, if there are `transcripts`.
    """
    if transcripts is not None:
        for name in ("on_output", "on_stderr"):
            if options.get(name) is not None:
                options[name] = partial(transcripts.show_and_log, options[name])
    student_files.link_home(network)
    student_files.keep_settings(network)
    more = options.pop("environment", None) or {}
    environment = {**variables, **more, "PWD": student_files.HOME}
    return network.root.start(
        command, folder=student_files.HOME, environment=environment, **options
    )


def _state(started: StartedUnit) -> list[str]:
    """Return lines about the state after the earlier steps: problems, running programs, folders."""
    lines = [f"an earlier step went wrong: {problem}" for problem in started.problems]
    if started.problems:
        lines.append(
            "(files of an earlier attempt may be in the way: use an empty folder, --folder)"
        )
    for name, command in started.running:
        where = "sh" if name == CLIENT else name
        program = command.removeprefix("sudo ").split()[0]
        lines.append(f"running: {command} ({name}); to end it: {where} pkill -INT {program}")
    for name, folder in started.folders.items():
        if folder != student_files.HOME:
            lines.append(f"the terminal of {name} was in {folder}")
    return lines


def _windows(
    unit: Unit, network: Network, greeting: str, folders: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the title and the shell command of each tmux window."""
    subfolder = student_files.folder_of(unit)
    client_folder = folders.get(CLIENT, f"{student_files.HOME}/{subfolder}" if subfolder else "")
    client = f"PS1='client:\\w$ ' exec {SHELL}"
    if client_folder:
        client = f"cd {shlex.quote(client_folder)}; {client}"
    # A prompt that uses the host service would stop time in all windows while it waits.
    prompt = f"echo {shlex.quote(greeting)}; env -u WANLAB_PROMPT {shlex.join(PROMPT)}"
    prompt += f"; tmux -L {SOCKET} kill-session"
    windows = [("mininet", prompt), ("client", client)]
    for host in [*network.topology.hosts, *network.topology.routers]:
        folder = shlex.quote(folders.get(host.name, student_files.HOME))
        windows.append((host.name, f"cd {folder}; exec wanlab-node {host.name}"))
    show = f"wanlab lab show {unit.name} --seed $WANLAB_SEED{_units_option(unit)}"
    return [*windows, ("lesson", f"PAGER='less -R' {show}; exec {SHELL}")]


def _units_option(unit: Unit) -> str:
    """Return the option with which a command finds a teacher's unit from any folder."""
    return f" --units {shlex.quote(str(unit.folder.absolute().parent))}" if unit.own_name else ""


def tmux(
    unit: Unit, network: Network, greeting: str, folders: Mapping[str, str] | None = None
) -> list[str]:
    """Return the command of a tmux session: the prompt, the client, each host, and the lesson.

    tmux uses the whole screen, so the greeting is shown in it as well. `folders` has the folder in
    which the terminal of each node, and of the client, opens.
    """
    session = unit.name
    words = ["tmux", "-L", SOCKET, "-f", "/dev/null"]
    for number, (title, command) in enumerate(_windows(unit, network, greeting, folders or {})):
        if number:
            words += [";", "new-window", "-d", "-n", title, command]
        else:
            words += ["new-session", "-s", session, "-n", title, command]
        words += [
            ";",
            "pipe-pane",
            "-t",
            f"{session}:{title}",
            f"cat >> {LOGS}/{shlex.quote(title)}",
        ]
    for option, value in TMUX_OPTIONS.items():
        words += [";", "set", "-g", option, value]
    return words


class Transcripts:
    """Appends to the transcripts of the prompt. If that fails, says so once; the session goes on."""

    def __init__(self, home: SharedFolder, nodes: Sequence[str]) -> None:
        self._home = home
        self._nodes = nodes
        self._has_failed = False

    def show_and_log(self, show: Callable[[bytes], None], data: bytes) -> None:
        """Show output, and append it to the transcript."""
        log = f"{hand_in.TRANSCRIPTS}/{hand_in.PROMPT}"
        self._try(lambda: self._home.append(log, data))
        show(data)

    def note_line(self, line: str) -> None:
        """Record a line that was typed at the prompt."""
        self._try(lambda: hand_in.note_line(self._home, self._nodes, line))

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                reason = file_error("write", self._home.path / hand_in.TRANSCRIPTS, error)
                print(f"wanlab: the transcript is incomplete: {reason}", file=sys.stderr)


def _greeting(unit: Unit, home: Path, *, uses_tmux: bool, is_terminal: bool) -> str:
    lines = [
        unit.heading,
        f"/home/admin in the network is your folder {home}",
        f"the lesson: wanlab lab show {unit.name}{_units_option(unit)}",
        f"everything that you type is kept in {home / hand_in.TRANSCRIPTS}",
    ]
    if uses_tmux:
        lines.append(
            "switch tmux windows with Ctrl-B and a number, or the mouse; "
            "exit at mininet> ends everything"
        )
    elif is_terminal:
        lines.append(
            "run a command on a host: h1 COMMAND; on the client: sh COMMAND; "
            "in a separate window: xterm h1 (or install tmux)"
        )
    if unit.check:
        lines.append(
            "to have your work graded, type in the client's terminal: "
            f"wanlab lab check {unit.name}{_units_option(unit)}"
        )
    return "\n".join(lines)
