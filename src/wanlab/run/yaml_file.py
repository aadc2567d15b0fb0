"""An experiment as a YAML file: what is done is data.

    experiment: buffers
    about: Goodput over the size of the bottleneck's buffer.
    parameters: {rate: 100Mbps, delay: 10ms, buffer: 1bdp, algorithm: cubic}
    bdp: {rate: rate, delay: delay}        # makes bytes of "2bdp"; rtt instead of a delay each way
    topology:                              # or "dumbbell,1,rate={rate}", or a file
      nodes: [{host: h1}, {host: h2}, {switch: s1}]
      links:
        - {link: [h1, s1]}
        - {link: [s1, h2], rate: "{rate}", delay: "{delay}", a_to_b: {queue: {limit: "{buffer}"}}}
    network: {wire: gso}
    programs:
      - {as: server, on: h2, run: iperf3 -s -1}
      - {as: flow, at: 100ms, on: h1, run: "iperf3 -c h2 -C {algorithm} -t 10 -J"}
    samplers: {every: 10ms, queues: [s1-eth2], flows: [h1]}
    until: flow                            # or duration: 11s
    metrics:
      goodput: flow.iperf3.receiver.mbps
      rtt: mean(tcp.rtt_us)
    vary: {buffer: [0.5bdp, 1bdp, 2bdp], algorithm: [reno, cubic]}
    repeats: 3
    full: {vary: {...}, repeats: 10}       # for `wanlab sweep --full`
    plots: [lines goodput over buffer by algorithm]

`{name}` stands for a parameter's value, anywhere; `{{` and `}}` for braces. Besides `vary` (a grid)
there are `points` (a list of maps) and `random: {count: 20, seed: 1, rate: [10Mbps, 1Gbps], rtt: {from:
5ms, to: 200ms, logarithmic: true}}`. A program that ends with a status other than 0 fails the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from wanlab import yaml_text
from wanlab.errors import InputError, WanlabError, did_you_mean
from wanlab.fields import Fields, Problems
from wanlab.measure import (
    Acks,
    Capture,
    Cpu,
    Drops,
    Flows,
    Ports,
    Queues,
    Retransmissions,
    Softnet,
    Sojourns,
)
from wanlab.measure.metrics import RunExtractor, RunOutput, parse_run_metric
from wanlab.measure.readings import Sampler
from wanlab.network import Network, Process
from wanlab.topology import Topology, shapes
from wanlab.topology.check import accept
from wanlab.topology.files import FORMATS, yaml
from wanlab.topology.files.plain import read_topology
from wanlab.units import format_size, parse_time

from .definition import Definition, check_names
from .design import DESIGN_KEYS, Design, Uniform, Value
from .run import Run

KEYS = (
    *("experiment", "about", "parameters", "bdp", "topology", "network", "programs", "samplers"),
    *("duration", "until", "metrics", "vary", "points", "random", "repeats", "full", "plots"),
    *("files", "needs"),
)
NETWORK_KEYS = ("machine", "clock", "wire", "nic", "sysctls", "memory", "line_rate")
PROGRAM_KEYS = ("as", "at", "on", "run", "may_fail")
SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "queues": Queues,
    "flows": Flows,
    "ports": Ports,
    "acks": Acks,
    "retransmissions": Retransmissions,
    "sojourns": Sojourns,
    "captures": Capture,
    "softnet": Softnet,
    "cpu": Cpu,
    "drops": Drops,
}
WITHOUT_PLACES = ("softnet", "cpu", "drops")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")
_BDP = re.compile(r"\d+(?:\.\d+)?bdp")


AnyDefinition = TypeVar("AnyDefinition", bound=Definition)


def read_yaml(path: Path, definition_type: type[AnyDefinition]) -> AnyDefinition:
    """Return the experiment in a file. Raises WanlabError that says where the file is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WanlabError(f"cannot read {path}: {error}") from None
    said = yaml_text.read_yaml(text, path.name)
    try:
        return _experiment(_mapping(said, "the file"), path, definition_type)
    except InputError:
        raise
    except WanlabError as error:
        raise WanlabError(f"{path.name}: {error.what}", error.hint) from None


def _experiment(
    said: Mapping[str, Any], path: Path, definition_type: type[AnyDefinition]
) -> AnyDefinition:
    _refuse_unknown(said, KEYS, "an experiment")
    name = str(said.get("experiment", path.stem))
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise WanlabError(f'"{name}" cannot be the name of an experiment', "letters, digits and _")
    parameters = _mapping(said.get("parameters", {}), "parameters")
    for key, value in parameters.items():
        if not isinstance(value, str | int | float | bool):
            raise WanlabError(f"the parameter {key} has no value", 'as in "rate: 100Mbps"')
    check_names(parameters)
    if both := sorted(set(parameters) & set(_mapping(said.get("metrics", {}), "metrics"))):
        raise WanlabError(f"{both[0]} is a parameter and a metric", "rename one")
    for key in ("topology", "programs"):
        if key not in said:
            raise WanlabError(f"{key} is missing", "see docs/sweeps.md")
    if ("duration" in said) == ("until" in said):
        raise WanlabError("it does not say when it ends", "either duration: 10s or until: PROGRAM")
    written = _Written(said, dict(parameters))
    plots = tuple(_texts(said.get("plots", []), "plots"))
    full = said.get("full")
    made = definition_type(
        name=name,
        function=written.perform,
        parameters=dict(parameters),
        about=str(said.get("about", "")).strip(),
        design=_design({key: said[key] for key in DESIGN_KEYS if key in said}),
        full=None if full is None else _design(_mapping(full, "full")),
        plots=plots,
        files=written.files,
        programs=tuple(_texts(said.get("needs", []), "needs")),
        origin_file=path,
    )
    made.check_designs()
    return made


# -- the design -----------------------------------------------------------------------------------


def _design(said: Mapping[str, Any]) -> Design:
    _refuse_unknown(said, DESIGN_KEYS, "a design")
    repeats = said.get("repeats", 1)
    if isinstance(repeats, bool) or not isinstance(repeats, int):
        raise WanlabError(f"repeats: {repeats!r} is no whole number", "repeats: 3")
    if len({"points", "random"} & set(said)) == 2:
        raise WanlabError("points and random do not go together", "leave one out")
    points: Sequence[Mapping[str, Value]] = [{}]
    if "points" in said:
        points = [_mapping(point, "points") for point in _list(said["points"], "points")]
    if "random" in said:
        points = _random(dict(_mapping(said["random"], "random")))
    vary = _mapping(said.get("vary", {}), "vary")
    axes = {name: _list(values, f"vary: {name}") for name, values in vary.items()}
    return Design(axes, tuple(points), repeats)


def _random(said: dict[str, Any]) -> Sequence[Mapping[str, Value]]:
    count, seed = said.pop("count", None), said.pop("seed", 1)
    if not isinstance(count, int) or not isinstance(seed, int):
        raise WanlabError("random does not say how many points", "random: {count: 20, ...}")
    choices: dict[str, Sequence[Value] | Uniform] = {}
    for name, choice in said.items():
        if isinstance(choice, Mapping):
            _refuse_unknown(choice, ("from", "to", "logarithmic"), f"random: {name}")
            low, high = choice.get("from", ""), choice.get("to", "")
            choices[name] = Uniform(low, high, bool(choice.get("logarithmic", False)))
        else:
            choices[name] = _list(choice, f"random: {name}")
    return Design.random(count, choices, seed=seed).points


# -- a run ----------------------------------------------------------------------------------------


class _Written:
    """What a file says is done."""

    def __init__(self, said: Mapping[str, Any], parameters: dict[str, Value]) -> None:
        self._said = said
        self._programs = [
            _program(item, number)
            for number, item in enumerate(_list(said["programs"], "programs"), start=1)
        ]
        names = [program["as"] for program in self._programs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise WanlabError(f"two programs are called {twice.pop()}", "give each its own name")
        if said.get("until") is not None and said["until"] not in names:
            raise WanlabError(
                f"until: there is no program {said['until']!r}", did_you_mean(said["until"], names)
            )
        network = _mapping(said.get("network", {}), "network")
        _refuse_unknown(network, NETWORK_KEYS, "a network")
        self._metrics = {
            name: _metric(name, text)
            for name, text in _mapping(said.get("metrics", {}), "metrics").items()
        }
        _refuse_unknown(
            _mapping(said.get("samplers", {}), "samplers"), ("every", *SAMPLERS), "samplers"
        )
        self._check_placeholders(parameters)

    @property
    def files(self) -> tuple[str, ...]:
        """That stand beside it."""
        named = _texts(self._said.get("files", []), "files")
        return tuple(dict.fromkeys([*filter(None, [self.topology_file]), *named]))

    @property
    def topology_file(self) -> str:
        """Its name, if the topology is in a file of its own."""
        said = self._said["topology"]
        is_file = isinstance(said, str) and Path(said).suffix.lower() in FORMATS
        return said if is_file else ""

    def perform(self, run: Run, **parameters: Value) -> None:
        values = self._values(run, parameters)
        said = _filled(self._said, values)
        topology = self._topology(run, said["topology"], values)
        with run.network(topology, **said.get("network", {})) as net:
            samplers = said.get("samplers", {})
            with run.sampling(
                *_samplers(samplers), every=str(samplers.get("every", "10ms"))
            ) as sampling:
                processes = self._start(net, values)
                self._let_pass(net, said, processes)
            self._check_ends(processes)
            for name, process in processes.items():
                run.keep(f"{name}.txt", process.output_bytes)
            output = RunOutput(processes, sampling.tables())
            for name, extract in self._metrics.items():
                metric = extract(output)
                run.metric(name, metric.value, metric.unit)

    def _values(self, run: Run, parameters: Mapping[str, Value]) -> dict[str, Value]:
        """What the placeholders stand for: sizes in products of rate and RTT become bytes."""
        bdp = self._said.get("bdp")
        if bdp is None:
            return dict(parameters)
        rate = str(parameters[bdp["rate"]])
        if "rtt" in bdp:
            rtt_ns = parse_time(str(parameters[bdp["rtt"]]))
        else:
            rtt_ns = 2 * parse_time(str(parameters[bdp["delay"]]))
        return {
            name: format_size(run.buffer_bytes(value, rate=rate, rtt=rtt_ns))
            if isinstance(value, str) and _BDP.fullmatch(value)
            else value
            for name, value in parameters.items()
        }

    def _topology(self, run: Run, said: Any, values: Mapping[str, Value]) -> Topology:
        if self.topology_file:
            path = run.file(self.topology_file)
            form = yaml if path.suffix.lower() in (".yaml", ".yml") else _mn()
            loaded: Topology = form.load(
                path.read_text(encoding="utf-8"),
                self.topology_file,
                folder=path.parent,
                fill_placeholders=lambda written: _filled(written, values),
            )
            return loaded
        if isinstance(said, str):
            return shapes.from_text(said)
        problems = Problems(folder=run.folder)
        return accept(read_topology(Fields(said, "", problems)), problems, "topology")

    def _start(self, net: Network, values: Mapping[str, Value]) -> dict[str, Process]:
        """In order of time, and as they are written where times are equal."""
        processes: dict[str, Process] = {}
        programs = [_filled(program, values) for program in self._programs]
        for program in sorted(programs, key=lambda one: parse_time(str(one["at"]))):
            net.run_until(str(program["at"]))
            processes[program["as"]] = net[str(program["on"])].start(str(program["run"]))
        return processes

    def _let_pass(
        self, net: Network, said: Mapping[str, Any], processes: Mapping[str, Process]
    ) -> None:
        if "until" in said:
            processes[said["until"]].wait()
        else:
            net.run_until(str(said["duration"]))

    def _check_ends(self, processes: Mapping[str, Process]) -> None:
        may_fail = {program["as"] for program in self._programs if program["may_fail"]}
        for name, process in processes.items():
            if process.status not in (None, 0) and name not in may_fail:
                process.finish()  # says what it printed

    def _check_placeholders(self, parameters: Mapping[str, Value]) -> None:
        rest = {key: value for key, value in self._said.items() if key not in ("about", "plots")}
        _filled(rest, parameters)
        bdp = self._said.get("bdp")
        if bdp is not None:
            known = _mapping(bdp, "bdp")
            if set(known) not in ({"rate", "rtt"}, {"rate", "delay"}):
                raise WanlabError("bdp names two parameters", "bdp: {rate: rate, rtt: rtt}")
            for name in known.values():
                if name not in parameters:
                    raise WanlabError(f"bdp: there is no parameter {name!r}")


def _program(item: Any, number: int) -> dict[str, Any]:
    said = _mapping(item, f"program {number}")
    _refuse_unknown(said, PROGRAM_KEYS, f"program {number}")
    for key in ("on", "run"):
        if key not in said:
            raise WanlabError(f"program {number} does not say {key}", "{on: h1, run: ping -c 3 h2}")
    defaults = {"as": f"program{number}", "at": "0s", "may_fail": False}
    return {**defaults, **said}


def _metric(name: str, text: Any) -> RunExtractor:
    try:
        return parse_run_metric(str(text))
    except WanlabError as error:
        raise WanlabError(f"metrics: {name}: {error.what}", error.hint) from None


def _samplers(said: Mapping[str, Any]) -> list[Sampler]:
    made = []
    for kind, places in said.items():
        if kind == "every":
            continue
        if kind in WITHOUT_PLACES:
            made += [SAMPLERS[kind]()] if places else []
        else:
            made.append(SAMPLERS[kind](*_texts(places, f"samplers: {kind}")))
    return made


def _mn() -> Any:
    from wanlab.topology.files import mn

    return mn


# -- data -----------------------------------------------------------------------------------------


def _filled(said: Any, values: Mapping[str, Value]) -> Any:
    """The same with every placeholder filled."""
    if isinstance(said, Mapping):
        return {key: _filled(value, values) for key, value in said.items()}
    if isinstance(said, list):
        return [_filled(value, values) for value in said]
    return _fill(said, values) if isinstance(said, str) else said


def _fill(text: str, values: Mapping[str, Value]) -> Value:
    """A text that is one placeholder and nothing else becomes the value itself, a number too."""
    if (whole := _PLACEHOLDER.fullmatch(text)) and whole[1] in values:
        return values[whole[1]]

    def value_of(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        if found[1] not in values:
            raise WanlabError(
                f'there is no parameter "{found[1]}"',
                f"{did_you_mean(found[1], values)}; braces are written twice: {{{{ }}}}",
            )
        return str(values[found[1]])

    return _PLACEHOLDER.sub(value_of, text)


def _mapping(said: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(said, Mapping):
        raise WanlabError(f"{what} is no mapping", "as in {name: value}")
    return said


def _list(said: Any, what: str) -> list[Any]:
    if not isinstance(said, list):
        raise WanlabError(f"{what} is no list", "as in [one, two]")
    return said


def _texts(said: Any, what: str) -> list[str]:
    return [said] if isinstance(said, str) else [str(item) for item in _list(said, what)]


def _refuse_unknown(said: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in said:
        if key not in known:
            raise WanlabError(f'"{key}" is not known of {what}', did_you_mean(str(key), known))
