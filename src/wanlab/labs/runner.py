"""Performs the steps of a unit in a network of its own, as a student would.

The network is there from the first step that needs it: with the topology if that is the GUI's Run, and
without nodes if something is typed into the client's terminal before.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from wanlab import Network, Queues, Sampling, Topology
from wanlab.errors import MachineError, RequirementError, WanlabError, did_you_mean
from wanlab.measure.metrics import StepOutput, sampled_port
from wanlab.record import Table

from . import outcome, student_files
from .canvas import Canvas
from .outcome import Outcome
from .prompt import VARIABLES, PromptDesk
from .shell import Shell, not_ended
from .unit import CLIENT, GUI, MININET, Step, Unit

LIMIT_NS = 1_800_000_000_000
"""No command of the course takes longer."""
SETTLE_NS = 500_000_000
"""A server listens by then."""
GRACE_NS = 20_000_000_000
READY_NS = 60_000_000_000
TOLD_EVERY_NS = 15_000_000_000
EVERY = "10ms"
COURSE = {
    "net.ipv4.tcp_rmem": "10240 87380 16777216",
    "net.ipv4.tcp_wmem": "10240 87380 16777216",
    "net.ipv4.tcp_congestion_control": "cubic",
}
"""Kernel parameters of the course's machine."""


@dataclass
class Running:
    """What a step has started and a later one will stop."""

    result: Outcome
    shell: Shell
    folder: str
    shown: str
    """What it had printed when the next step began."""


class Runner:
    """Used as a context; what runs in it ends with it."""

    def __init__(
        self,
        unit: Unit,
        folder: Path,
        *,
        seed: int = 1,
        clock: str = "virtual",
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.unit = unit
        self.folder = folder
        self.canvas = Canvas(unit.topology)
        self.results: list[Outcome] = []
        self.samples: dict[str, dict[str, Table]] = {}
        """What was sampled of queues, by the step's name."""
        self._seed = seed
        self._clock = clock
        self._say = say
        self._environment = student_files.environment(seed)
        self._network: Network | None = None
        self._is_running = False
        self._shells: dict[str, Shell] = {}
        self._prompt: PromptDesk | None = None
        self._named: dict[str, Running] = {}
        self._typed: dict[int, tuple[Outcome, Shell]] = {}
        self._samplings: dict[int, tuple[Sampling, str]] = {}

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._network is not None:
            self._network.stop()
            self._network = None

    # -- the network ------------------------------------------------------------------------------

    @property
    def network(self) -> Network:
        """Booted when it is first needed."""
        if self._network is None:
            self._boot(Topology())
        assert self._network is not None
        return self._network

    def _boot(self, topology: Topology) -> None:
        network = network_of(self.unit, topology, self.folder, seed=self._seed, clock=self._clock)
        network.start()
        self._network = network
        student_files.link_home(network)
        where = posixpath.join(student_files.HOME, student_files.folder_of(self.unit))
        self._prompt = PromptDesk(network, where, self._environment)

    def run_topology(self) -> None:
        """What the GUI's Run does."""
        if self._is_running:
            return
        topology = self.canvas.topology
        if self._network is None:
            self._boot(topology)
        else:
            self._network.add(*topology.nodes, *topology.links)
        self._is_running = True

    def stop_topology(self) -> None:
        """What the GUI's Stop does: nodes and their terminals go, the client's stays."""
        if self._network is None or not self._is_running:
            return
        for name in [name for name in self._shells if name != CLIENT]:
            self._shells.pop(name).close()
        if self._prompt is not None:
            self._prompt.close()
        for node in self._network.topology.nodes:
            self._network.remove_node(node.name)
        self._is_running = False

    def shell(self, name: str) -> Shell:
        """The terminal of a node, or the client's. It is opened when it is first used."""
        shell = self._shells.get(name)
        if shell is not None and not shell.has_ended:
            return shell
        if name != CLIENT:
            self.run_topology()
        network = self.network
        if name == CLIENT:
            node = network.root
        else:
            nodes = [node.name for node in network.topology.nodes]
            if name not in nodes:
                raise WanlabError(f"there is no terminal {name}", did_you_mean(name, nodes))
            node = network[name]
        folder = student_files.HOME
        shell = Shell(
            network,
            name,
            node.start,
            folder,
            {**self._environment, **VARIABLES, "PWD": folder},
        )
        self._shells[name] = shell
        return shell

    # -- steps ------------------------------------------------------------------------------------

    def perform(self, steps: Sequence[Step]) -> list[Outcome]:
        """Performs steps in order; what becomes of them is in `results`, too."""
        before = len(self.results)
        for step in steps:
            result = Outcome(step, clock=self._clock)
            self.results.append(result)
            self._say(step.text.splitlines()[0] if step.text else step.title)
            began_ns = self._network.now_ns if self._network else 0
            result.began_s = began_ns / 1e9
            try:
                self._perform(step, result, steps)
            except (MachineError, RequirementError):
                raise
            except WanlabError as error:
                result.problems.append(str(error))
            if self._network is not None:
                result.seconds = (self._network.now_ns - began_ns) / 1e9
        self._finish(self.results[before:])
        return self.results[before:]

    def _perform(self, step: Step, result: Outcome, steps: Sequence[Step]) -> None:
        if step.skip:
            result.figures += [outcome.skipped(expected, step.skip) for expected in step.expect]
        elif step.where == (GUI,):
            self._do(step)
        elif "look" in step.do and not step.lines:
            self._look(step, result)
        elif step.enter:
            self._press_enter(step, result)
        elif step.stops or step.ends:
            self._end_named(step, result)
        elif step.where == (MININET,):
            self._type_at_prompt(step, result)
        else:
            self._type(step, result, steps)

    def _do(self, step: Step) -> None:
        for word, value in step.do.items():
            if word in ("open", "save"):
                place = posixpath.join(
                    student_files.HOME, student_files.topology_folder_of(self.unit)
                )
                file = student_files.host_path(self.folder, posixpath.join(place, str(value)))
                (self.canvas.open if word == "open" else self.canvas.save)(file)
            elif word == "run":
                self.run_topology()
            elif word in ("stop", "close"):
                self.stop_topology()
            elif word == "terminal":
                names = value if isinstance(value, list) else str(value).split(",")
                for name in names:
                    self.shell(str(name).strip())
            elif word == "new":
                self.canvas.new()
            elif word != "look":
                change = {
                    "draw": self.canvas.draw,
                    "properties": self.canvas.set_properties,
                    "preferences": self.canvas.set_preferences,
                }[word]
                change(value)

    # -- typing -----------------------------------------------------------------------------------

    def _type(self, step: Step, result: Outcome, steps: Sequence[Step]) -> None:
        """Into one terminal, or the same into several, one right after the other."""
        shells = [self._free_shell(name) for name in step.where]
        if step.waits_for_enter:
            for shell in shells:
                shell.type(" ".join(step.lines), enter=False)
                self._typed[step.n] = (result, shell)
            return
        self._begin_sampling(step, result, steps)
        for number, line in enumerate(_pieces(step.lines)):
            is_last = number == len(_pieces(step.lines)) - 1
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
            self._named[step.starts] = Running(result, shell, shell.folder, shell.output)
            return
        self._conclude(result, shells)

    def _free_shell(self, name: str) -> Shell:
        shell = self.shell(name)
        if not shell.is_busy:
            self._gather(shell)
            return shell
        busy = [n for n, running in self._named.items() if running.shell is shell]
        raise WanlabError(
            f"the terminal of {name} is busy with {busy[0] if busy else 'another command'}",
            "a step before this one has to stop it",
        )

    def _gather(self, shell: Shell) -> None:
        """What has ended by itself (`iperf3 -s -1`): its output is its step's, not the next one's."""
        for name, running in list(self._named.items()):
            if running.shell is shell:
                del self._named[name]
                self._conclude(running.result, [shell])

    def _wait(self, shell: Shell, result: Outcome, limit_ns: int = LIMIT_NS) -> None:
        """Until the command has ended, or a prompt waits: `sudo mn` ends with its prompt."""
        assert self._prompt is not None
        prompt = self._prompt
        limit_ns = GRACE_NS if shell.is_interrupted else limit_ns
        shell.wait(limit_ns, lambda: prompt.is_waiting and not prompt.is_attached, self._teller())
        if not shell.is_busy or (prompt.is_waiting and not prompt.is_attached):
            if shell.is_busy:
                prompt.flush()
            return
        result.problems.append(not_ended(limit_ns))
        shell.interrupt()
        shell.wait(GRACE_NS)

    def _teller(self) -> Callable[[], None]:
        """Says how much time has passed, now and then."""
        began_ns = told_ns = self.network.now_ns

        def tell() -> None:
            nonlocal told_ns
            if self.network.now_ns - told_ns >= TOLD_EVERY_NS:
                told_ns = self.network.now_ns
                self._say(f"  {(told_ns - began_ns) / 1e9:.0f} s have passed")

        return tell

    def _conclude(self, result: Outcome, shells: Sequence[Shell]) -> None:
        """Takes what was printed, and judges it."""
        step = result.step
        texts = []
        for shell in shells:
            texts.append(shell.take_output())
            if not shell.is_busy and not shell.is_interrupted:
                _check_status(step, shell, result)
        result.output += "".join(texts)
        self._judge(result, shells[0].folder if shells else student_files.HOME)

    def _judge(self, result: Outcome, folder: str) -> None:
        queues = self._end_sampling(result)
        step_output = StepOutput(result.output, read_file=self._reader(folder), queues=queues)
        result.judge(step_output, self._others(result))

    def _press_enter(self, step: Step, result: Outcome) -> None:
        if missing := [number for number in step.enter if number not in self._typed]:
            raise WanlabError(f"nothing waits for Enter in step {missing[0]}")
        waiting = [self._typed.pop(number) for number in step.enter]
        for one, _ in waiting:
            self._begin_sampling(one.step, one, ())
        self._begin_sampling(step, result, ())
        for _, shell in waiting:
            shell.press_enter()
        for one, shell in waiting:
            if one.step.for_ns is not None:
                self.network.run_for(one.step.for_ns)
                shell.interrupt()
        for one, shell in waiting:
            self._wait(shell, one)
        for one, shell in waiting:
            self._conclude(one, [shell])
        result.output = "".join(one.output for one, _ in waiting)
        for one, _ in waiting:
            one.output = ""  # it is seen here; nothing was before Enter
        self._judge(result, waiting[0][1].folder if waiting else student_files.HOME)

    def _end_named(self, step: Step, result: Outcome) -> None:
        name = step.stops or step.ends
        running = self._named.pop(name, None)
        if running is None:
            raise WanlabError(f"{name} does not run")
        if step.stops and running.shell.is_busy:
            running.shell.interrupt()
        self._wait(running.shell, result)
        self._conclude(running.result, [running.shell])
        result.output, running.result.output = running.result.output, ""
        self._judge(result, running.folder)
        # Each step shows what was printed in its time; all of it was judged.
        running.result.output = running.shown
        result.output = result.output.removeprefix(running.shown)

    def _type_at_prompt(self, step: Step, result: Outcome) -> None:
        network = self.network
        assert self._prompt is not None
        prompt = self._prompt
        if not prompt.is_waiting:
            self.run_topology()
            prompt.attach()
            if not prompt.wait(READY_NS) or not prompt.is_waiting:
                raise WanlabError(f"there is no prompt: {prompt.take_output().strip()}")
        client = self._shells.get(CLIENT)
        typed = None if prompt.is_attached else client
        (typed or prompt).take_output()
        self._begin_sampling(step, result, ())
        for line in step.lines:
            prompt.type(line)
            if step.for_ns is not None:
                network.run_for(step.for_ns)
                (typed or prompt).interrupt()
            if not prompt.wait(
                LIMIT_NS, lambda: typed is not None and not typed.is_busy, self._teller()
            ):
                result.problems.append(f"{not_ended(LIMIT_NS)}: the prompt has not come back")
                (typed or prompt).interrupt()
        result.output = (typed or prompt).take_output()
        self._judge(result, typed.folder if typed else student_files.HOME)

    # -- looking ----------------------------------------------------------------------------------

    def _look(self, step: Step, result: Outcome) -> None:
        """At what a terminal shows: its last command, unless an expectation says of which."""
        same = [one for one in self.results[:-1] if one.step.where == step.where]
        last = [one.step_output for one in same if one.step_output is not None][-1:]
        others = self._others(result)
        result.judge(last[0] if last else StepOutput(), others)

    def _others(self, result: Outcome) -> dict[int, StepOutput]:
        """What there is of the steps that an outcome's expectations name."""
        named = {expected.of for expected in result.step.expect} - {None}
        found = {}
        for other in self.results:
            if other.step.n in named:
                found[other.step.n] = other.step_output or self._so_far(other)
        return found

    def _so_far(self, result: Outcome) -> StepOutput:
        """Of what runs still."""
        for running in self._named.values():
            if running.result is result:
                queues = {}
                if own := self._samplings.get(id(result)):
                    sampling, port = own
                    if table := sampling.tables().get("qdisc"):
                        queues[port] = table
                text = running.shell.output
                return StepOutput(text, read_file=self._reader(running.folder), queues=queues)
        return StepOutput()

    def _begin_sampling(self, step: Step, result: Outcome, steps: Sequence[Step]) -> None:
        """If this step, or the one that stops what it starts, tells of a queue."""
        found = {sampled_port(expected.metric): result for expected in step.expect}
        for later in steps if step.starts else ():
            if later.n > step.n and step.starts in (later.stops, later.ends):
                found |= {sampled_port(expected.metric): result for expected in later.expect}
                break
        for port in filter(None, found):
            sampling = Sampling(self.network, [Queues(port)], every=EVERY)
            sampling.begin()
            self._samplings[id(result)] = (sampling, port)
            return

    def _end_sampling(self, result: Outcome) -> dict[str, Table]:
        own = self._samplings.pop(id(result), None)
        if own is None:
            name = f"step-{result.step.n}"
            started = result.step.stops or result.step.ends
            for other in reversed(self.results):
                if started and other.step.starts == started:
                    name = f"step-{other.step.n}"
                    break
            kept = self.samples.get(name, {})
            return dict(kept)
        sampling, port = own
        sampling.end()
        table = sampling.tables().get("qdisc")
        if table is None:
            return {}
        self.samples[f"step-{result.step.n}"] = {port: table}
        return {port: table}

    def _reader(self, folder: str) -> Callable[[str], bytes]:
        """Reads files as they are named in a terminal."""

        def read(name: str) -> bytes:
            path = posixpath.join(folder, name.replace("~", student_files.HOME, 1))
            try:
                return student_files.host_path(self.folder, path).read_bytes()
            except OSError:
                raise WanlabError(f"there is no file {name} in {folder}") from None

        return read

    def _finish(self, results: Sequence[Outcome]) -> None:
        """What still runs is interrupted; what it has printed is its step's."""
        own = {id(result) for result in results}
        for name, running in list(self._named.items()):
            if id(running.result) not in own:
                continue
            del self._named[name]
            if running.shell.is_busy:
                running.shell.interrupt()
                running.shell.wait(GRACE_NS)
            with suppress(WanlabError):
                self._conclude(running.result, [running.shell])


def network_of(unit: Unit, topology: Topology, folder: Path, *, seed: int, clock: str) -> Network:
    """The network of a unit, not yet started."""
    return Network(
        topology,
        clock=clock,  # type: ignore[arg-type]
        wire=unit.wire,  # type: ignore[arg-type]
        seed=seed,
        folder=folder,
        sysctls={**COURSE, **unit.sysctls},
        line_rate=0 if unit.line_rate == "0" else unit.line_rate,
    )


def _pieces(lines: Sequence[str]) -> list[str]:
    """Lines that one command is made of are typed together."""
    is_one = any("<<" in line or line.endswith("\\") for line in lines)
    return ["\n".join(lines)] if is_one else list(lines)


def _check_status(step: Step, shell: Shell, result: Outcome) -> None:
    meant = step.status or 0
    if shell.status != meant:
        result.problems.append(f"exit status {shell.status} in {shell.name}")
