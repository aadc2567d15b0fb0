"""Read an experiment from a YAML file.

    experiment: buffers
    about: Goodput over the size of the bottleneck's buffer.
    parameters: {rate: 100Mbps, delay: 10ms, buffer: 1bdp, algorithm: cubic}
    bdp: {rate: rate, delay: delay}        # turns "2bdp" into bytes; or rtt instead of delay
    topology:                              # or "dumbbell,1,rate={rate}", or the name of a file
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
      rtt: flow.iperf3.rtt_mean_ms
    vary: {buffer: [0.5bdp, 1bdp, 2bdp], algorithm: [reno, cubic]}
    repeats: 3
    full: {vary: {...}, repeats: 10}       # for `wanlab sweep --full`
    plots: [lines goodput over buffer by algorithm]

`{name}` stands for a parameter's value, anywhere; write `{{` and `}}` for braces. Besides `vary` (a
grid) there are `points` (a list of mappings) and `random: {count: 20, seed: 1, rate: [10Mbps, 1Gbps],
rtt: {from: 5ms, to: 200ms, logarithmic: true}}`. Every experiment can vary its kernel (`kernel: [6.12,
7.3]`) and the processor of its nodes (`cpu: [free, server-2019]`). If a program exits with a status
other than 0, the run fails, unless the program has `may_fail: true`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from wanlab.errors import InputError, WanlabError, did_you_mean
from wanlab.fields import Fields, Problems, describe
from wanlab.input_file import read_input
from wanlab.measure.metrics import RunExtractor, parse_run_metric
from wanlab.yaml_text import parse_yaml

from .definition import Definition, check_names
from .design import Design, Parameters, Uniform, Value
from .placeholders import check_placeholders
from .run import COMMON_PARAMETERS, check_parameters
from .run_script import (
    SAMPLERS_OF_MACHINE,
    SAMPLERS_OF_PORTS,
    BdpParameters,
    RunScript,
    TimedProgram,
)

NETWORK_OPTIONS = (
    "machine",
    "clock",
    "wire",
    "nic",
    "cpu",
    "sysctls",
    "memory",
    "line_rate",
    "kernel",
)
KEYS_WITHOUT_PLACEHOLDERS = ("about", "plots", "labels")

AnyDefinition = TypeVar("AnyDefinition", bound=Definition)


def read_yaml(path: Path, definition_type: type[AnyDefinition]) -> AnyDefinition:
    """Return the experiment in a file; raise InputError with all problems of the file."""
    try:
        text = read_input(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise WanlabError(f"cannot read {path}: {error}") from None
    document = parse_yaml(text, path.name)
    problems = Problems(document.locate)
    problems.extend(document.problems)
    definition = _read_definition(Fields(document.data, "", problems), path, definition_type)
    if problems:
        raise InputError(problems, path.name)
    return definition


def _read_definition(
    fields: Fields, path: Path, definition_type: type[AnyDefinition]
) -> AnyDefinition:
    name = fields.word("experiment") or path.stem
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        hint = "use letters, digits and _, and begin with a letter"
        fields.problem("experiment", f'"{name}" cannot be the name of an experiment', hint)
    parameters = _read_parameters(fields)
    script = _read_script(fields, parameters)
    files = [*filter(None, [script.topology_file, script.cpu_file]), *fields.words("files")]
    full = fields.mapping("full")
    definition = definition_type(
        name=name,
        function=script.perform,
        parameters=parameters,
        about=(fields.word("about") or "").strip(),
        design=_read_design(fields, name, parameters),
        full=_read_design(full, name, parameters) if "full" in fields else None,
        plots=fields.words("plots"),
        labels={
            name: fields.mapping("labels").text(name) or "" for name in fields.mapping("labels")
        },
        files=tuple(dict.fromkeys(files)),
        programs=fields.words("needs"),
        origin_file=path,
    )
    full.refuse_rest()
    fields.refuse_rest()
    for key in fields:
        if key not in KEYS_WITHOUT_PLACEHOLDERS:
            check_placeholders(fields.value(key), key, parameters, fields.problems)
    return definition


def _read_parameters(fields: Fields) -> dict[str, Value]:
    parameters = dict(_values_of(fields.mapping("parameters")))
    try:
        check_names(parameters)
    except WanlabError as error:
        fields.problem("parameters", error.what, error.hint)
    for name in fields.mapping("metrics"):
        if name in parameters:
            problem = f"{name} is the name of a parameter and of a metric"
            fields.mapping("metrics").problem(name, problem, "rename one")
    return parameters


def _values_of(fields: Fields) -> Iterator[tuple[str, Value]]:
    """Yield the parameters in a mapping with their values."""
    for name in fields:
        try:
            yield name, _as_value(fields.value(name))
        except WanlabError as error:
            fields.problem(name, error.what, error.hint)


# -- the steps of a run ---------------------------------------------------------------------------


def _read_script(fields: Fields, parameters: Parameters) -> RunScript:
    fields.require("topology", "programs")
    programs = [
        _read_program(item, number)
        for number, item in enumerate(fields.mappings("programs"), start=1)
    ]
    names = [program.name for program in programs]
    for name in sorted({name for name in names if names.count(name) > 1}):
        fields.problem("programs", f'several programs are called "{name}"', "rename one")
    until, duration = fields.text("until") or "", fields.word("duration") or ""
    if ("until" in fields) == ("duration" in fields):
        hint = "use either duration: 10s or until: PROGRAM"
        fields.problem("", "the file must say exactly once when a run ends", hint)
    elif "until" in fields and until not in names:
        fields.problem("until", f'there is no program "{until}"', did_you_mean(until, names))
    samplers = fields.mapping("samplers")
    bdp = fields.mapping("bdp")
    return RunScript(
        topology=fields.value("topology"),
        programs=programs,
        network=_read_network(fields.mapping("network")),
        every=samplers.word("every") or "10ms",
        samplers=_read_samplers(samplers),
        until=until,
        duration=duration,
        metrics=_read_metrics(fields.mapping("metrics")),
        bdp=_read_bdp(bdp, parameters) if "bdp" in fields else None,
    )


def _read_program(fields: Fields, number: int) -> TimedProgram:
    fields.require("on", "run")
    program = TimedProgram(
        name=fields.word("as") or f"program{number}",
        node=fields.word("on") or "",
        command=fields.word("run") or "",
        at=fields.word("at") or "0s",
        may_fail=bool(fields.flag("may_fail")),
    )
    fields.refuse_rest()
    return program


def _read_network(fields: Fields) -> dict[str, object]:
    options = {name: fields.value(name) for name in NETWORK_OPTIONS if name in fields}
    _refuse_unknown(fields, NETWORK_OPTIONS)
    return options


def _read_samplers(fields: Fields) -> dict[str, object]:
    samplers: dict[str, object] = {}
    for kind in fields:
        if kind in SAMPLERS_OF_PORTS:
            samplers[kind] = list(fields.words(kind))
        elif kind in SAMPLERS_OF_MACHINE:
            samplers[kind] = fields.value(kind)
    _refuse_unknown(fields, ("every", *SAMPLERS_OF_PORTS, *SAMPLERS_OF_MACHINE))
    return samplers


def _read_metrics(fields: Fields) -> dict[str, RunExtractor]:
    metrics = {}
    for name in fields:
        try:
            metrics[name] = parse_run_metric(str(fields.value(name)))
        except WanlabError as error:
            fields.problem(name, error.what, error.hint)
    return metrics


def _read_bdp(fields: Fields, parameters: Parameters) -> BdpParameters:
    if set(fields) not in ({"rate", "rtt"}, {"rate", "delay"}):
        hint = "bdp: {rate: rate, rtt: rtt}, or delay: instead of rtt:"
        fields.problems.add(fields.path, "bdp must name two parameters", hint)
    for key in fields:
        name = fields.word(key) or ""
        if name not in parameters:
            hint = did_you_mean(name, parameters)
            fields.problem(key, f'there is no parameter "{name}"', hint)
    return BdpParameters(
        rate=fields.word("rate") or "",
        rtt=fields.word("rtt") or "",
        delay=fields.word("delay") or "",
    )


def _refuse_unknown(fields: Fields, known: Sequence[str]) -> None:
    for key in fields:
        if key not in known:
            fields.problem(key, f'unknown field "{key}"', did_you_mean(key, known))


# -- designs --------------------------------------------------------------------------------------


def _read_design(fields: Fields, experiment: str, parameters: Parameters) -> Design:
    """Return the design in a mapping, and report values that the parameters cannot have."""
    problem_count = len(fields.problems)
    vary = fields.mapping("vary")
    axes: dict[str, Sequence[Value]] = {name: _read_choices(vary, name) for name in vary}
    points: Sequence[Parameters] = [{}]
    if "points" in fields:
        points = [dict(_values_of(point)) for point in fields.mappings("points")]
    if "random" in fields:
        points = _read_random_points(fields.mapping("random"))
    if {"points", "random"} <= set(fields):
        fields.problem("random", "points and random cannot be combined", "leave one out")
    repeats = fields.integer("repeats")
    if len(fields.problems) > problem_count:
        return Design()
    key = next((key for key in ("vary", "points", "random") if key in fields), "repeats")
    try:
        design = Design(axes, tuple(points), 1 if repeats is None else repeats)
        for point, _ in design.runs():
            own = {
                name: value
                for name, value in point.items()
                if name in parameters or name not in COMMON_PARAMETERS
            }
            check_parameters(parameters, own, experiment)
    except WanlabError as error:
        fields.problem(key, error.what, error.hint)
        return Design()
    return design


def _read_choices(fields: Fields, name: str) -> list[Value]:
    """Return a list of values of a parameter."""
    choices: list[Value] = []
    for path, item in fields.items(name):
        try:
            choices.append(_as_value(item))
        except WanlabError as error:
            fields.problems.add(path, error.what, error.hint)
    return choices


def _read_random_points(fields: Fields) -> Sequence[Parameters]:
    count, seed = fields.integer("count"), fields.integer("seed")
    if count is None:
        fields.problem("count", "the number of points is missing", "random: {count: 20, ...}")
        return [{}]
    choices: dict[str, Sequence[Value] | Uniform] = {}
    for name in fields.rest():
        if isinstance(fields.value(name), Mapping):
            choices[name] = _read_uniform(fields.mapping(name))
        else:
            choices[name] = _read_choices(fields, name)
    try:
        return Design.random(count, choices, seed=1 if seed is None else seed).points
    except WanlabError as error:
        fields.problems.add(fields.path, error.what, error.hint)
        return [{}]


def _read_uniform(fields: Fields) -> Uniform:
    fields.require("from", "to")
    low, high = (fields.parsed(key, _as_value) for key in ("from", "to"))
    is_logarithmic = bool(fields.flag("logarithmic"))
    fields.refuse_rest()
    return Uniform(low or 0, high or 0, is_logarithmic)


def _as_value(data: object) -> Value:
    """Return the value of a parameter. Raises WanlabError for anything else."""
    if isinstance(data, str | int | float | bool):
        return data
    raise WanlabError(
        f"{describe(data)} is not a string, a number, true or false", 'as in "rate: 100Mbps"'
    )
