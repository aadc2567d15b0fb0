"""Performs the steps of a unit in a separate network, as a student would."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wanlab import Network
from wanlab.errors import MachineError, RequirementError, WanlabError
from wanlab.measure.metrics import StepOutput

from . import outcome, student_files
from .canvas import Canvas
from .lab_network import LabNetwork
from .outcome import Outcome
from .shell import LabShell, not_ended
from .step_samples import StepRecord, StepRecords
from .unit import GUI, MININET, Step, Unit

LIMIT_NS = 1_800_000_000_000
"""No command of the course takes longer."""
SETTLE_NS = 500_000_000
"""After this time a server listens."""
GRACE_NS = 20_000_000_000
"""How long a command may take to end after Ctrl-C."""
READY_NS = 60_000_000_000
PROGRESS_NS = 15_000_000_000


@dataclass
class StartedCommand:
    """A command that one step has started and a later step will stop."""

    result: Outcome
    shell: LabShell
    folder: str
    first_output: str
    """Its output up to the beginning of the next step."""


class StepRunner:
    """Performs steps; a context manager, which ends the network and whatever still runs in it."""

    def __init__(
        self,
        unit: Unit,
        folder: Path,
        *,
        seed: int = 1,
        clock: str = "virtual",
        say: Callable[[str], None] = lambda line: None,
        confines: bool = False,
        session: Path | bool | None = None,
        measures: bool = True,
        memory_bytes: int | None = None,
    ) -> None:
        """Prepare to perform steps; the network boots when a step first needs it.

        `folder` becomes /home/admin. With `confines`, everything that is typed runs in a sandbox; see
        `Network.confine_programs`. `session` is the file in which the session is recorded (True: it is
        recorded without a file). Without `measures`, nothing is sampled and no figures are compared.
        """
        self.unit = unit
        self.folder = folder
        self.canvas = Canvas(unit.topology)
        self.results: list[Outcome] = []
        self._clock = clock
        self._say = say
        self._confines = confines
        self._measures = measures
        self._lab = LabNetwork(
            unit,
            folder,
            seed=seed,
            clock=clock,
            confines=confines,
            session=session,
            memory_bytes=memory_bytes,
        )
        self._records = StepRecords()
        self._started: dict[str, StartedCommand] = {}
        self._typed: dict[int, tuple[Outcome, LabShell]] = {}

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

    def interrupted_records(self) -> list[StepRecord]:
        """Return the records, including those of measurements that are still running."""
        if self.has_booted:
            # A network that has died cannot be sampled any more.
            with suppress(WanlabError):
                self._records.end_all(self._lab.network)
        return self._records.records

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

    def release(self) -> Network:
        """Return the running network, which the caller must stop. Its terminals stay open."""
        return self._lab.release()

    def running_commands(self) -> list[tuple[str, str]]:
        """Return the commands that steps have left running: each terminal with its command."""
        return [
            (command.shell.name, command.result.step.lines[-1])
            for command in self._started.values()
            if command.shell.is_busy
        ]

    # -- steps ------------------------------------------------------------------------------------

    def perform(self, steps: Sequence[Step], *, finish: bool = True) -> list[Outcome]:
        """Perform steps in order; their outcomes are added to `results`, too.

        Commands that they leave running are ended, unless `finish` is false.
        """
        before = len(self.results)
        for step in steps:
            result = Outcome(step, clock=self._clock)
            self.results.append(result)
            self._say(step.text.splitlines()[0] if step.text else step.title)
            began_ns = self._lab.now_ns
            result.began_s = began_ns / 1e9
            try:
                self._perform(step, result, steps)
            except (MachineError, RequirementError):
                raise
            except WanlabError as error:
                result.problems.append(str(error))
            if self._lab.has_booted:
                result.seconds = (self._lab.now_ns - began_ns) / 1e9
        if finish:
            self._finish(self.results[before:])
        return self.results[before:]

    def _perform(self, step: Step, result: Outcome, steps: Sequence[Step]) -> None:
        if step.skip:
            result.figures += [
                outcome.skipped_figure(expected, step.skip) for expected in step.expect
            ]
        elif step.where == (GUI,):
            self._use_gui(step)
        elif "look" in step.do and not step.lines:
            self._look(step, result)
        elif step.enter:
            self._press_enter(step, result)
        elif step.stops or step.ends:
            self._end_started(step, result)
        elif step.where == (MININET,):
            self._type_at_prompt(step, result)
        else:
            self._type(step, result, steps)

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
            elif word != "look":
                self.canvas.perform(word, argument, self._topology_file)

    def _topology_file(self, name: str) -> Path:
        folder = posixpath.join(student_files.HOME, student_files.topology_folder_of(self.unit))
        path = student_files.host_path(self.folder, posixpath.join(folder, name))
        if self._confines and not path.resolve().is_relative_to(self.folder.resolve()):
            raise WanlabError(f"{name} is not in the home folder")
        return path

    # -- typing -----------------------------------------------------------------------------------

    def _type(self, step: Step, result: Outcome, steps: Sequence[Step]) -> None:
        """Type the step's lines into each of its terminals, one right after the other."""
        shells = [self._free_shell(name) for name in step.where]
        if step.waits_for_enter:
            for shell in shells:
                shell.type(" ".join(step.lines), enter=False)
                self._typed[step.n] = (result, shell)
            return
        self._begin_sampling(result, [later for later in steps if later.n > step.n])
        commands = step.commands
        for number, line in enumerate(commands, start=1):
            is_last = number == len(commands)
            for shell in shells:
                shell.type(line)
            if step.starts and is_last:
                break
            if step.for_ns is not None and is_last:
                self.network.run_for(step.for_ns)
                for shell in shells:
                    if shell.is_busy:
                        shell.interrupt()
            for shell in shells:
                self._wait(shell, result)
        if step.starts:
            self.network.run_for(SETTLE_NS)
            shell = shells[0]
            self._started[step.starts] = StartedCommand(result, shell, shell.folder, shell.output)
            return
        self._conclude(result, shells)

    def _free_shell(self, name: str) -> LabShell:
        shell = self.shell(name)
        if shell.is_busy and any(command.shell is shell for command in self._started.values()):
            shell.wait(SETTLE_NS)  # `iperf3 -s -1` ends a round trip after its client
        if not shell.is_busy:
            self._conclude_ended(shell)
            return shell
        busy = [n for n, command in self._started.items() if command.shell is shell]
        raise WanlabError(
            f"the terminal of {name} is busy with {busy[0] if busy else 'another command'}",
            "a step before this one has to stop it",
        )

    def _conclude_ended(self, shell: LabShell) -> None:
        """Take the output of a command that has ended by itself (`iperf3 -s -1`)."""
        for name, command in list(self._started.items()):
            if command.shell is shell:
                del self._started[name]
                self._conclude(command.result, [shell])

    def _wait(self, shell: LabShell, result: Outcome, limit_ns: int = LIMIT_NS) -> None:
        """Wait until the command has ended, or a prompt waits: `sudo mn` ends with its prompt."""
        prompt = self._lab.prompt
        limit_ns = GRACE_NS if shell.is_interrupted else limit_ns

        def is_at_prompt() -> bool:
            return prompt.is_waiting and not prompt.is_attached

        shell.wait(limit_ns, is_at_prompt, self._progress())
        if not shell.is_busy or is_at_prompt():
            if shell.is_busy:
                prompt.flush()
            return
        result.problems.append(not_ended(limit_ns))
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

    def _conclude(self, result: Outcome, shells: Sequence[LabShell]) -> None:
        """Take the terminals' output, and compare it with the manual."""
        step = result.step
        texts = []
        for shell in shells:
            texts.append(shell.take_output())
            if not shell.is_busy and not shell.is_interrupted:
                _check_status(step, shell, result)
        result.output += "".join(texts)
        self._compare(result, shells[0].folder if shells else student_files.HOME)

    def _press_enter(self, step: Step, result: Outcome) -> None:
        if missing := [number for number in step.enter if number not in self._typed]:
            raise WanlabError(f"nothing waits for Enter in step {missing[0]}")
        waiting = [self._typed.pop(number) for number in step.enter]
        for typed, _ in waiting:
            self._begin_sampling(typed)
        self._begin_sampling(result)
        for _, shell in waiting:
            shell.press_enter()
        for typed, shell in waiting:
            if typed.step.for_ns is not None:
                self.network.run_for(typed.step.for_ns)
                shell.interrupt()
        for typed, shell in waiting:
            self._wait(shell, typed)
        for typed, shell in waiting:
            self._conclude(typed, [shell])
        result.output = "".join(typed.output for typed, _ in waiting)
        for typed, _ in waiting:
            typed.output = ""  # this step shows it: before Enter, there was no output
        self._compare(result, waiting[0][1].folder if waiting else student_files.HOME)

    def _end_started(self, step: Step, result: Outcome) -> None:
        name = step.stops or step.ends
        command = self._started.pop(name, None)
        if command is None:
            raise WanlabError(f"{name} is not running")
        if step.stops and command.shell.is_busy:
            command.shell.interrupt()
        self._wait(command.shell, result)
        self._conclude(command.result, [command.shell])
        result.output, command.result.output = command.result.output, ""
        self._compare(result, command.folder)
        # Each of the two steps shows the output of its time; the comparison above used all of it.
        command.result.output = command.first_output
        result.output = result.output.removeprefix(command.first_output)

    def _finish(self, results: Sequence[Outcome]) -> None:
        """Interrupt the commands of these steps that still run, and take their output."""
        finished = {id(result) for result in results}
        for name, command in list(self._started.items()):
            if id(command.result) not in finished:
                continue
            del self._started[name]
            if command.shell.is_busy:
                command.shell.interrupt()
                command.shell.wait(GRACE_NS)
            with suppress(WanlabError):
                self._conclude(command.result, [command.shell])

    def _type_at_prompt(self, step: Step, result: Outcome) -> None:
        network, prompt = self.network, self._lab.prompt
        if not prompt.is_waiting:
            self.run_topology()
            prompt.attach()
            if not prompt.wait(READY_NS) or not prompt.is_waiting:
                raise WanlabError(f"there is no prompt: {prompt.take_output().strip()}")
        # A prompt that was typed (`sudo mn`) is in the client's terminal.
        client = None if prompt.is_attached else self._lab.client_shell()
        screen = client or prompt
        screen.take_output()
        self._begin_sampling(result)
        for line in step.lines:
            prompt.type(line)
            if step.for_ns is not None:
                network.run_for(step.for_ns)
                screen.interrupt()
            if not prompt.wait(
                LIMIT_NS, lambda: client is not None and not client.is_busy, self._progress()
            ):
                result.problems.append(f"{not_ended(LIMIT_NS)}: the prompt has not come back")
                screen.interrupt()
        result.output = screen.take_output()
        self._compare(result, client.folder if client else student_files.HOME)

    # -- comparing with the manual ----------------------------------------------------------------

    def _begin_sampling(self, result: Outcome, later: Iterable[Step] = ()) -> None:
        if not self._measures:
            return
        self._records.begin(self.network, result.step, later)

    def _compare(self, result: Outcome, folder: str) -> None:
        if not self._measures:
            return
        steps = [other.step for other in self.results]
        queues = self._records.end(result.step, steps)
        step_output = StepOutput(result.output, read_file=self._reader(folder), queues=queues)
        result.compare(step_output, self._others(result))
        commands = [step.text for step in steps if step.lines]
        self._records.keep(self.network, result.step, step_output, commands)

    def _look(self, step: Step, result: Outcome) -> None:
        """Compare the output of a terminal's last command, or of the steps that expectations name."""
        same = [other for other in self.results[:-1] if other.step.where == step.where]
        last = [other.step_output for other in same if other.step_output is not None][-1:]
        result.compare(last[0] if last else StepOutput(), self._others(result))

    def _others(self, result: Outcome) -> dict[int, StepOutput]:
        """Return the output of the steps that an outcome's expectations name."""
        named = {expected.of for expected in result.step.expect} - {None}
        return {
            other.step.n: other.step_output or self._output_so_far(other)
            for other in self.results
            if other.step.n in named
        }

    def _output_so_far(self, result: Outcome) -> StepOutput:
        """Return the output of a command that is still running."""
        for command in self._started.values():
            if command.result is result:
                queues = self._records.queues_so_far(result.step)
                text = command.shell.output
                return StepOutput(text, read_file=self._reader(command.folder), queues=queues)
        return StepOutput()

    def _reader(self, folder: str) -> Callable[[str], bytes]:
        """Return a function that reads files by their names in a terminal."""

        def read(name: str) -> bytes:
            path = posixpath.join(folder, name.replace("~", student_files.HOME, 1))
            try:
                return student_files.host_path(self.folder, path).read_bytes()
            except OSError:
                raise WanlabError(f"there is no file {name} in {folder}") from None

        return read


def _check_status(step: Step, shell: LabShell, result: Outcome) -> None:
    if shell.status != (step.status or 0):
        result.problems.append(f"exit status {shell.status} in {shell.name}")
