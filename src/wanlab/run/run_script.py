"""The steps of a run from a YAML file: a topology, programs at times, samplers, and metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.fields import Fields, Problems
from wanlab.measure import (
    Acks,
    Capture,
    Cpu,
    Drops,
    Flows,
    Ports,
    Processors,
    Queues,
    Retransmissions,
    Softnet,
    Sojourns,
)
from wanlab.measure.metrics import RunExtractor, RunOutput
from wanlab.measure.readings import Sampler
from wanlab.network import Network, Process
from wanlab.topology import Topology, shapes
from wanlab.topology.check import accept
from wanlab.topology.cpu import is_model_file
from wanlab.topology.files import FORMATS, mn, yaml
from wanlab.topology.files.plain import read_topology
from wanlab.units import format_size, parse_time

from .design import Parameters, Value
from .placeholders import fill, fill_text
from .run import Run
from .source import YAML

SAMPLERS_OF_PORTS: Mapping[str, Callable[..., Sampler]] = {
    "queues": Queues,
    "flows": Flows,
    "ports": Ports,
    "acks": Acks,
    "retransmissions": Retransmissions,
    "sojourns": Sojourns,
    "captures": Capture,
}
"""Samplers of ports; `flows` samples hosts."""
SAMPLERS_OF_MACHINE: Mapping[str, Callable[[], Sampler]] = {
    "softnet": Softnet,
    "processors": Processors,
    "cpu": Cpu,
    "drops": Drops,
}
_BDP = re.compile(r"\d+(?:\.\d+)?bdp")
_NEAR_BDP = re.compile(r"(\d+(?:\.\d+)?)\s*((?:bd|b[a-z]p|[a-z]dp|dbp|bpd)\w?s?)", re.IGNORECASE)
"""Numbers with a misspelled bdp: "2bdq", "2 BDPs". No other unit has such a beginning."""


@dataclass(frozen=True)
class TimedProgram:
    """A program, and the time at which it starts. All fields but `may_fail` may have placeholders."""

    name: str
    node: str
    command: str
    at: str = "0s"
    may_fail: bool = False

    def filled(self, values: Parameters) -> TimedProgram:
        """Return the program with its placeholders replaced."""
        return TimedProgram(
            name=fill_text(self.name, values),
            node=fill_text(self.node, values),
            command=fill_text(self.command, values),
            at=fill_text(self.at, values),
            may_fail=self.may_fail,
        )


@dataclass(frozen=True)
class BdpParameters:
    """The parameters that turn a buffer of "2bdp" into bytes: the rate, and one of two delays."""

    rate: str
    rtt: str = ""
    delay: str = ""
    """The delay in one direction."""

    def rtt_ns(self, parameters: Parameters) -> int:
        if self.rtt:
            return parse_time(str(parameters[self.rtt]))
        return 2 * parse_time(str(parameters[self.delay]))


@dataclass(frozen=True, kw_only=True)
class RunScript:
    """The steps of a run. Everything but `until` and the metrics may have placeholders."""

    topology: object
    """A shape, the name of a file, or the data of a topology."""
    programs: Sequence[TimedProgram]
    network: Mapping[str, object]
    """Options of `Network`."""
    samplers: Mapping[str, object]
    """The argument of each sampler: names of ports or hosts, or true."""
    every: str = "10ms"
    until: str = ""
    """The program whose end ends the run."""
    duration: str = ""
    """The time at which the run ends if `until` is empty."""
    metrics: Mapping[str, RunExtractor]
    bdp: BdpParameters | None = None

    @property
    def topology_file(self) -> str:
        """The name of the topology's file; "" if the topology is not in a separate file."""
        is_file = isinstance(self.topology, str) and Path(self.topology).suffix.lower() in FORMATS
        return str(self.topology) if is_file else ""

    @property
    def cpu_file(self) -> str:
        """The name of the file of the processor's model; "" if the network uses no such file."""
        words = self.network.get("cpu")
        name = words.get("model") if isinstance(words, Mapping) else words
        return name if isinstance(name, str) and is_model_file(name) else ""

    def perform(self, run: Run, **parameters: Value) -> None:
        """Run the programs in the network, keep their outputs, and set the metrics."""
        values = self._values(run, parameters)
        network = {name: fill(option, values) for name, option in self.network.items()}
        if self.cpu_file:
            words = network["cpu"] if isinstance(network["cpu"], Mapping) else {}
            network["cpu"] = {**words, "model": str(run.file(self.cpu_file))}
        programs = [program.filled(values) for program in self.programs]
        every = fill_text(self.every, values)
        with run.network(self._topology(run, values), **network) as net:
            with run.sampling(*self._samplers(values), every=every) as sampling:
                processes = _start(net, programs)
                if self.until:
                    processes[self.until].wait()
                else:
                    net.run_until(fill_text(self.duration, values))
            _check_exit_statuses(programs, processes)
            for name, process in processes.items():
                run.keep(f"{name}.txt", process.output_bytes)
            output = RunOutput(processes, sampling.tables())
            for name, extract in self.metrics.items():
                metric = extract(output)
                run.metric(name, metric.value, metric.unit, least=metric.least, most=metric.most)

    def _values(self, run: Run, parameters: Parameters) -> dict[str, Value]:
        """Return the values of the placeholders: the parameters, with sizes in BDP as bytes."""
        if self.bdp is None:
            return dict(parameters)
        rate = str(parameters[self.bdp.rate])
        rtt_ns = self.bdp.rtt_ns(parameters)
        for name, value in parameters.items():
            mistyped = _NEAR_BDP.fullmatch(str(value))
            if mistyped and not _BDP.fullmatch(str(value)):
                raise WanlabError(
                    f'"{mistyped[2]}" in {name}={value} is not a unit',
                    f"did you mean {mistyped[1]}bdp?",
                )
        return {
            name: format_size(run.buffer_bytes(value, rate=rate, rtt=rtt_ns))
            if isinstance(value, str) and _BDP.fullmatch(value)
            else value
            for name, value in parameters.items()
        }

    def _topology(self, run: Run, values: Parameters) -> Topology:
        if self.topology_file:
            path = run.file(self.topology_file)
            load = yaml.load if path.suffix.lower() in YAML else mn.load
            return load(
                path.read_text(encoding="utf-8"),
                self.topology_file,
                folder=path.parent,
                fill_placeholders=lambda data: fill(data, values),
            )
        data = fill(self.topology, values)
        if isinstance(data, str):
            return shapes.from_text(data)
        problems = Problems(folder=run.folder)
        return accept(read_topology(Fields(data, "", problems)), problems, "topology")

    def _samplers(self, values: Parameters) -> list[Sampler]:
        samplers: list[Sampler] = []
        for kind, template in self.samplers.items():
            setting = fill(template, values)
            if kind in SAMPLERS_OF_PORTS:
                names = setting if isinstance(setting, list) else [setting]
                samplers.append(SAMPLERS_OF_PORTS[kind](*map(str, names)))
            elif setting:
                samplers.append(SAMPLERS_OF_MACHINE[kind]())
        return samplers


def _start(net: Network, programs: Sequence[TimedProgram]) -> dict[str, Process]:
    """Start the programs in the order of their times; programs with equal times in the listed order."""
    processes: dict[str, Process] = {}
    for program in sorted(programs, key=lambda program: parse_time(program.at)):
        net.run_until(program.at)
        processes[program.name] = net[program.node].start(program.command)
    return processes


def _check_exit_statuses(
    programs: Sequence[TimedProgram], processes: Mapping[str, Process]
) -> None:
    """Raise CommandError for a program that has failed, unless it `may_fail`."""
    for program in programs:
        process = processes[program.name]
        if process.status not in (None, 0) and not program.may_fail:
            process.finish()  # raises, with the program's output
