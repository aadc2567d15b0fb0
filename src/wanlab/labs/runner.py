"""Performs the steps of a unit in a separate network, as a student would."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from wanlab import Network, Topology, load
from wanlab.errors import MachineError, RequirementError, WanlabError
from wanlab.measure import Drop
from wanlab.measure.lost_packets import Losses
from wanlab.measure.metrics import StepOutput
from wanlab.network import NO_CHOICE, MachineChoice, StartJitter
from wanlab.shared_folder import SharedFolder, UnsafeFileError

from . import student_files
from .canvas import Canvas
from .lab_network import LabNetwork
from .outcome import Outcome
from .shell import LabShell, not_ended
from .step_samples import QueueTables, StepRecord, StepRecords
from .submitted_topology import refuse_more_than_network
from .unit import GUI, MININET, Step, Unit

LIMIT_NS = 1_800_000_000_000
"""No command of the course takes longer."""
SERVER_START_NS = 500_000_000
"""How long to wait after starting a command that is left running; by then, a server listens."""
SERVER_END_NS = 500_000_000
"""How long a server that ends by itself may take to end after its client has."""
GRACE_NS = 20_000_000_000
"""How long a command may take to end after Ctrl-C."""
PROMPT_LIMIT_NS = 60_000_000_000
"""How long Mininet's prompt may take to appear."""
PROGRESS_NS = 15_000_000_000
"""The network time between two reports of how long a command has been running."""


@dataclass
class StartedCommand:
    """A command that one step has started and a later step will stop."""

    outcome: Outcome
    shell: LabShell
    folder: str
    first_output: str
    """Its output up to the beginning of the next step."""


class WaitingLine(NamedTuple):
    """A line that one step has typed and for which a later step will press Enter."""

    outcome: Outcome
    shell: LabShell


class StepRunner:
    """Performs steps; a context manager, which ends the network and whatever still runs in it."""

    def __init__(
        self,
        unit: Unit,
        folder: Path,
        *,
        guest_folder: str = "",
        seed: int = 1,
        clock: str = "virtual",
        say: Callable[[str], None] = lambda line: None,
        confines: bool = False,
        session: Path | bool | None = None,
        measures: bool = True,
        memory_bytes: int | None = None,
        start_jitter_ns: int = 0,
        choice: MachineChoice = NO_CHOICE,
    ) -> None:
        """Prepare to perform steps; the network boots when a step first needs it.

        `folder` becomes /home/admin. It is mounted at `guest_folder` (default: at its own path). With
        `confines`, everything that is typed runs in a sandbox; see `Network.confine_programs`. `session`
        is the file in which the session is recorded (True: it is recorded without a file). Without
        `measures`, nothing is sampled and no figures are compared. Commands that are to start together
        start up to `start_jitter_ns` later; see `StartJitter`.
        """
        self.unit = unit
        self.folder = folder
        self.canvas = (
            Canvas(unit.topology, self._check_topology) if confines else Canvas(unit.topology)
        )
        self.outcomes: list[Outcome] = []
        self._clock = clock
        self._say = say
        self._confines = confines
        self._measures = measures
        self._lab = LabNetwork(
            unit,
            folder,
            guest_folder=guest_folder,
            seed=seed,
            clock=clock,
            confines=confines,
            session=session,
            memory_bytes=memory_bytes,
            start_jitter_ns=start_jitter_ns,
            choice=choice,
        )
        self._start_jitter = StartJitter(start_jitter_ns, seed)
        self._records = StepRecords()
        self._losses = Losses()
        self._started: dict[str, StartedCommand] = {}
        """By the names that steps give these commands."""
        self._waiting_for_enter: dict[int, WaitingLine] = {}
        """By the number of the step that has typed the line."""

    def __enter__(self) -> StepRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self._lab.close()

    @property
    def network(self) -> Network:
        """The network; it boots when it is first needed."""
        return self._lab.network

    @property
    def has_booted(self) -> bool:
        return self._lab.has_booted

    @property
    def records(self) -> list[StepRecord]:
        """The measurements that were made while the steps ran."""
        return self._records.records

    def end_all_sampling(self) -> None:
        """End the measurements that are still running; `records` then includes them."""
        if self.has_booted:
            # A network that has died cannot be sampled any more.
            with suppress(WanlabError):
                self._records.end_all(self._lab.network)

    @property
    def programs(self) -> list[dict[str, str]]:
        """The programs of the checks, as they were before anything was typed."""
        return self._lab.programs

    def end_confinement(self) -> list[str]:
        """End all typed commands; return the programs that they have changed in their sandbox."""
        return self._lab.end_confinement()

    def run_topology(self) -> None:
        """Start the canvas's nodes and links, as the GUI's Run does."""
        self._lab.run_topology(self.canvas.topology)

    def shell(self, name: str) -> LabShell:
        """Return the terminal of a node, or the client's; it opens when it is first used."""
        return self._lab.shell(name, self.canvas.topology)

    def working_folders(self) -> dict[str, str]:
        """Return the working folder of each terminal that is open."""
        return {shell.name: shell.folder for shell in self._lab.open_shells()}

    def release(self) -> Network:
        """Return the running network, which the caller must stop. Its terminals stay open."""
        return self._lab.release()

    def running_commands(self) -> list[tuple[str, str]]:
        """Return the commands that steps have left running: each terminal with its command."""
        return [
            (command.shell.name, command.outcome.step.lines[-1])
            for command in self._started.values()
            if command.shell.is_busy
        ]

    # -- steps ------------------------------------------------------------------------------------

    def perform(self, steps: Sequence[Step], *, finish: bool = True) -> list[Outcome]:
        """Perform steps in order; their outcomes are added to `outcomes`, too.

        Commands that they leave running are ended, unless `finish` is false.
        """
        before = len(self.outcomes)
        for step in steps:
            outcome = Outcome(step, clock=self._clock)
            self.outcomes.append(outcome)
            self._say(step.text.splitlines()[0] if step.text else step.title)
            began_ns = self._lab.now_ns
            outcome.began_s = began_ns / 1e9
            self._new_losses()
            try:
                self._perform(step, outcome, steps)
            except (MachineError, RequirementError):
                raise
            except WanlabError as error:
                outcome.problems.append(str(error))
            if self._lab.has_booted:
                outcome.seconds = (self._lab.now_ns - began_ns) / 1e9
            outcome.lost = self._new_losses()
        if finish:
            self._interrupt_remaining(self.outcomes[before:])
        return self.outcomes[before:]

    def _perform(self, step: Step, outcome: Outcome, steps: Sequence[Step]) -> None:
        # The first condition that holds decides. A skipped step may be of any other kind, the GUI
        # has no output to look at, and the last two branches are for all steps that type lines.
        if step.skip:
            pass
        elif step.where == (GUI,):
            self._use_gui(step)
        elif "look" in step.do and not step.lines:
            self._look(step, outcome)
        elif step.enter:
            self._press_enter(step, outcome)
        elif step.stops or step.ends:
            self._stop_or_await(step, outcome)
        elif step.where == (MININET,):
            self._type_at_prompt(step, outcome)
        else:
            self._type(step, outcome, steps)

    def _new_losses(self) -> list[Drop]:
        """Return what was lost since the last call, and look at the queues.

        A submission is graded without this.
        """
        if not self._measures or self._confines or not self._lab.has_booted:
            return []
        with suppress(WanlabError):  # a node's namespace was removed in a terminal
            self._lab.network.look_at_queues()
        return self._losses.since_last(self._lab.network)

    def _use_gui(self, step: Step) -> None:
        for word, argument in step.do.items():
            if word == "run":
                self.run_topology()
            elif word in ("stop", "close"):
                self._lab.stop_topology()
            elif word == "terminal":
                names = argument if isinstance(argument, list) else str(argument).split(",")
                for name in names:
                    self.shell(str(name).strip())
            elif word in ("open", "save"):
                self.canvas.perform(word, self._topology_file(str(argument)), self._home)
            elif word != "look":
                self.canvas.perform(word, argument, self._home)

    def _check_topology(self, topology: Topology) -> None:
        refuse_more_than_network(topology, load(self.unit.topology))

    @property
    def _home(self) -> SharedFolder:
        return SharedFolder(self.folder)

    def _topology_file(self, name: str) -> str:
        """Return the name in the home folder of a file that the GUI opens or saves."""
        folder = posixpath.join(student_files.HOME, student_files.topology_folder_of(self.unit))
        in_home = student_files.name_in_home(posixpath.normpath(posixpath.join(folder, name)))
        if in_home is None:
            raise WanlabError(f"{name} is not in the home folder")
        return in_home

    # -- typing -----------------------------------------------------------------------------------

    def _type(self, step: Step, outcome: Outcome, steps: Sequence[Step]) -> None:
        shells: list[LabShell] = []
        for name in step.where:
            shells.append(self._idle_shell(name))
            self._collect_ended(shells[-1])
        if step.waits_for_enter:
            self._type_without_enter(step, outcome, shells)
            return
        self._begin_sampling(outcome, [later for later in steps if later.n > step.n])
        if step.starts:
            self._leave_running(step, outcome, shells)
        else:
            self._run_lines(step, outcome, shells)

    def _idle_shell(self, name: str) -> LabShell:
        """Return a terminal; raise WanlabError if a command is still running in it."""
        shell = self.shell(name)
        started = self._started_in(shell)
        if shell.is_busy and started:
            shell.wait(SERVER_END_NS)  # `iperf3 -s -1` ends a round trip after its client
        if shell.is_busy:
            raise WanlabError(
                f"the terminal of {name} is busy with {started[0] if started else 'another command'}",
                "a step before this one has to stop it",
            )
        return shell

    def _started_in(self, shell: LabShell) -> list[str]:
        """Return the names of the commands that steps have started in a terminal."""
        return [name for name, command in self._started.items() if command.shell is shell]

    def _collect_ended(self, shell: LabShell) -> None:
        """Take the output of a command that has ended by itself (`iperf3 -s -1`)."""
        for name in self._started_in(shell):
            command = self._started.pop(name)
            self._take_output_and_evaluate(command.outcome, [shell])

    def _type_without_enter(self, step: Step, outcome: Outcome, shells: Sequence[LabShell]) -> None:
        for shell in shells:
            shell.type(" ".join(step.lines), enter=False)
            self._waiting_for_enter[step.n] = WaitingLine(outcome, shell)

    def _leave_running(self, step: Step, outcome: Outcome, shells: Sequence[LabShell]) -> None:
        """Run the step's lines; leave the last one running until a later step stops it."""
        self._type_lines(step, outcome, shells)
        self.network.run_for(SERVER_START_NS)
        shell = shells[0]
        self._started[step.starts] = StartedCommand(outcome, shell, shell.folder, shell.output)

    def _run_lines(self, step: Step, outcome: Outcome, shells: Sequence[LabShell]) -> None:
        """Run the step's lines; the last one ends by itself, or with Ctrl-C after the step's time."""
        self._type_lines(step, outcome, shells)
        if step.lines and step.for_ns is not None:
            self.network.run_for(step.for_ns)
            for shell in shells:
                if shell.is_busy:
                    shell.interrupt()
        for shell in shells:
            self._wait(shell, outcome)
        self._take_output_and_evaluate(outcome, shells)

    def _type_lines(self, step: Step, outcome: Outcome, shells: Sequence[LabShell]) -> None:
        """Type each line into all terminals; wait for the end of all lines except the last."""
        commands = step.commands
        for number, line in enumerate(commands, start=1):
            for shell in shells:
                shell.type(line)
            if number < len(commands):
                for shell in shells:
                    self._wait(shell, outcome)

    def _press_enter(self, step: Step, outcome: Outcome) -> None:
        """Run the lines that earlier steps have typed, all at the same time."""
        if missing := [n for n in step.enter if n not in self._waiting_for_enter]:
            raise WanlabError(f"nothing waits for Enter in step {missing[0]}")
        waiting = [self._waiting_for_enter.pop(number) for number in step.enter]
        for line in waiting:
            self._begin_sampling(line.outcome)
        self._begin_sampling(outcome)
        self._run_waiting(waiting)
        for line in waiting:
            self._take_output_and_evaluate(line.outcome, [line.shell])
        outcome.output = "".join(line.outcome.output for line in waiting)
        for line in waiting:
            line.outcome.output = ""  # this step shows it: before Enter, there was no output
        self._evaluate(outcome, outcome.output, waiting[0].shell.folder)

    def _run_waiting(self, waiting: Sequence[WaitingLine]) -> None:
        """Press Enter for all lines before time passes, then wait until each has ended.

        With a start jitter, each Enter comes a little later; the smallest delay is the first.
        """
        delays = [(self._start_jitter.next_ns(), line) for line in waiting]
        passed_ns = 0
        for delay_ns, line in sorted(delays, key=lambda delayed: delayed[0]):
            if delay_ns > passed_ns:
                self.network.run_for(delay_ns - passed_ns)
                passed_ns = delay_ns
            line.shell.press_enter()
        for line in waiting:
            if line.outcome.step.for_ns is not None:
                self.network.run_for(line.outcome.step.for_ns)
                line.shell.interrupt()
        for line in waiting:
            self._wait(line.shell, line.outcome)

    def _type_at_prompt(self, step: Step, outcome: Outcome) -> None:
        network, prompt = self.network, self._lab.prompt
        if not prompt.is_waiting:
            self.run_topology()
            prompt.attach()
            if not prompt.wait(PROMPT_LIMIT_NS) or not prompt.is_waiting:
                raise WanlabError(f"there is no prompt: {prompt.take_output().strip()}")
        # A prompt that was typed (`sudo mn`) is in the client's terminal.
        client = None if prompt.is_attached else self._lab.client_shell()
        screen = client or prompt

        def has_left_prompt() -> bool:
            return client is not None and not client.is_busy

        screen.take_output()
        self._begin_sampling(outcome)
        for line in step.lines:
            prompt.type(line)
            if step.for_ns is not None:
                network.run_for(step.for_ns)
                screen.interrupt()
            if not prompt.wait(LIMIT_NS, has_left_prompt, self._progress()):
                outcome.problems.append(f"{not_ended(LIMIT_NS)}: the prompt has not come back")
                screen.interrupt()
        outcome.output = screen.take_output()
        self._evaluate(outcome, outcome.output, client.folder if client else student_files.HOME)

    # -- ending commands --------------------------------------------------------------------------

    def _wait(self, shell: LabShell, outcome: Outcome) -> None:
        """Wait until the command has ended, or a prompt waits: `sudo mn` ends with its prompt."""
        prompt = self._lab.prompt
        limit_ns = GRACE_NS if shell.is_interrupted else LIMIT_NS

        def is_at_prompt() -> bool:
            return prompt.is_waiting and not prompt.is_attached

        shell.wait(limit_ns, is_at_prompt, self._progress())
        if not shell.is_busy or is_at_prompt():
            if shell.is_busy:
                prompt.flush()
            return
        outcome.problems.append(not_ended(limit_ns))
        shell.interrupt()
        shell.wait(GRACE_NS)

    def _progress(self) -> Callable[[], None]:
        """Return a function that reports every PROGRESS_NS how much time has passed."""
        began_ns = last_ns = self.network.now_ns

        def say() -> None:
            nonlocal last_ns
            if self.network.now_ns - last_ns >= PROGRESS_NS:
                last_ns = self.network.now_ns
                self._say(f"  {(last_ns - began_ns) / 1e9:.0f} s have passed")

        return say

    def _stop_or_await(self, step: Step, outcome: Outcome) -> None:
        """End the command that an earlier step has started: press Ctrl-C, or wait for its end."""
        name = step.stops or step.ends
        command = self._started.pop(name, None)
        if command is None:
            raise WanlabError(f"{name} is not running")
        if step.stops and command.shell.is_busy:
            command.shell.interrupt()
        self._wait(command.shell, outcome)
        self._take_output_and_evaluate(command.outcome, [command.shell])
        # Both steps are compared with the whole output, but each shows only the output of its time.
        whole = command.outcome.output
        command.outcome.output = command.first_output
        outcome.output = whole.removeprefix(command.first_output)
        self._evaluate(outcome, whole, command.folder)

    def _interrupt_remaining(self, outcomes: Sequence[Outcome]) -> None:
        """Interrupt the commands of these steps that still run, and take their output."""
        performed = {id(outcome) for outcome in outcomes}
        for name, command in list(self._started.items()):
            if id(command.outcome) not in performed:
                continue
            del self._started[name]
            if command.shell.is_busy:
                command.shell.interrupt()
                command.shell.wait(GRACE_NS)
            with suppress(WanlabError):
                self._take_output_and_evaluate(command.outcome, [command.shell])

    def _take_output_and_evaluate(self, outcome: Outcome, shells: Sequence[LabShell]) -> None:
        for shell in shells:
            outcome.output += shell.take_output()
            if not shell.is_busy and not shell.is_interrupted:
                _check_status(outcome, shell)
        self._evaluate(outcome, outcome.output, shells[0].folder)

    # -- comparing with the manual ----------------------------------------------------------------

    def _begin_sampling(self, outcome: Outcome, later: Iterable[Step] = ()) -> None:
        if not self._measures:
            return
        self._records.begin(self.network, outcome.step, later)

    def _evaluate(self, outcome: Outcome, output: str, folder: str) -> None:
        """End a step's sampling, compare its output with the manual, and keep its record.

        `folder` is the terminal's working folder, from which expectations may read files.
        """
        if not self._measures:
            return
        queues = self._end_sampling(outcome.step)
        step_output = StepOutput(output, read_file=self._reader(folder), queues=queues)
        outcome.compare(step_output, self._others(outcome))
        self._keep_record(outcome.step, step_output)

    def _end_sampling(self, step: Step) -> QueueTables:
        return self._records.end(step, [outcome.step for outcome in self.outcomes])

    def _keep_record(self, step: Step, step_output: StepOutput) -> None:
        """Keep a step's record, with all commands so far."""
        steps = [outcome.step for outcome in self.outcomes]
        commands = [earlier.text for earlier in steps if earlier.lines]
        self._records.keep(self.network, step, step_output, commands)

    def _look(self, step: Step, outcome: Outcome) -> None:
        """Compare the output of a terminal's last command, or of the steps that expectations name."""
        same = [other for other in self.outcomes[:-1] if other.step.where == step.where]
        last = [other.step_output for other in same if other.step_output is not None][-1:]
        outcome.compare(last[0] if last else StepOutput(), self._others(outcome))

    def _others(self, outcome: Outcome) -> dict[int, StepOutput]:
        """Return the output of the steps that an outcome's expectations name."""
        named = {expected.of for expected in outcome.step.expect} - {None}
        return {
            other.step.n: other.step_output or self._output_so_far(other)
            for other in self.outcomes
            if other.step.n in named
        }

    def _output_so_far(self, outcome: Outcome) -> StepOutput:
        """Return the output of a command that is still running."""
        for command in self._started.values():
            if command.outcome is outcome:
                queues = self._records.queues_so_far(outcome.step)
                text = command.shell.output
                return StepOutput(text, read_file=self._reader(command.folder), queues=queues)
        return StepOutput()

    def _reader(self, folder: str) -> Callable[[str], bytes]:
        """Return a function that reads files by their names in a terminal."""

        def read(name: str) -> bytes:
            path = posixpath.join(folder, name.replace("~", student_files.HOME, 1))
            in_home = student_files.name_in_home(posixpath.normpath(path))
            try:
                if in_home is not None:
                    return self._home.read(in_home)
            except UnsafeFileError:
                raise
            except OSError:
                pass
            raise WanlabError(f"there is no file {name} in {folder}")

        return read


def _check_status(outcome: Outcome, shell: LabShell) -> None:
    if shell.status != (outcome.step.status or 0):
        outcome.problems.append(f"exit status {shell.status} in {shell.name}")
