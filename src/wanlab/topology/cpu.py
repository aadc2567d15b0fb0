"""The processor of a host or router: what its work costs, in virtual time.

A model is a file (`cpus/NAME.yaml`) with the cost of each kind of work and the source of each number.
The kernel of the embedded machine has the same table (kernel/patches/0069), in the order of `COSTS`.

In Python `cpu="server-2019"`, or words such as `{"model": "server-2019", "cores": 2, "speed": 0.1}`;
`free`, the default, is no model: computing takes no time. A node may have its own processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from wanlab.errors import InputError, WanlabError, did_you_mean
from wanlab.fields import Fields, Problems
from wanlab.input_file import read_input

FREE = "free"
MODELS = Path(__file__).with_name("cpus")
MAX_CORES = 16
MAX_COST = 1_000_000_000
MIN_SPEED, MAX_SPEED = 0.001, 1000
COSTS = (
    "threshold_ns",
    "idle_after_ns",
    "idle_exit_ns",
    "interrupt_ns",
    "rx_packet_ns",
    "rx_stack_ns",
    "tx_stack_ns",
    "tx_packet_ns",
    "call_ns",
    "switch_ns",
    "fork_ns",
    "exec_ns",
    "checksum_ps_per_byte",
    "copy_ps_per_byte",
)
"""The values of a model, in the order of the kernel's table, which begins with the number of cores."""
_OF_TIME = ("threshold_ns", "idle_after_ns")
"""Values that are no work, and do not depend on the speed."""
WORDS = ("model", "cores", "speed")
ABOUT = ("about", "processor", "kernel", "error")
"""The texts in a model's file."""
_EXAMPLE = 'as in "server-2019" or {"model": "server-2019", "cores": 2, "speed": 0.1}'


@dataclass(frozen=True, kw_only=True)
class CpuModel:
    """The content of a model's file."""

    name: str
    """The name of the file, without its ending."""
    about: str = ""
    processor: str = ""
    """What the processor calls itself."""
    kernel: str = ""
    """The release of the kernel with which the costs were measured."""
    error: str = ""
    """How far the costs are from a workload that was not used to measure them."""
    cores: int
    costs: Mapping[str, int] = field(hash=False)
    sources: Mapping[str, str] = field(hash=False)
    """Where each cost comes from."""

    def as_processor(self) -> Processor:
        """Return a processor of this model."""
        return Processor(model=self.name, cores=self.cores, costs=self.costs)


@dataclass(frozen=True, kw_only=True)
class Processor:
    """The processor of a node."""

    model: str
    """The name of the model, or what its file calls it."""
    cores: int
    speed: float = 1.0
    """Relative to the model: 0.1 makes all work take ten times as long."""
    costs: Mapping[str, int] = field(hash=False)
    """The values of the model, by the names in `COSTS`; none if computing takes no time."""
    is_written_out: bool = field(default=False, compare=False)
    """Whether files have the costs also of a model that comes with wanlab, not only its name."""

    @property
    def is_free(self) -> bool:
        """Whether computing takes no time."""
        return not self.costs

    def share(self, share: float | None) -> Processor:
        """Return the processor of a host that has a share of this one, as in Mininet's `cpu`."""
        if share is None:
            return self
        return replace(self, speed=self.speed * _number("share", share, MIN_SPEED, MAX_SPEED))

    def table(self) -> tuple[int, ...]:
        """Return the kernel's table."""
        return self.cores, *(self._cost(name) for name in COSTS)

    def _cost(self, name: str) -> int:
        cost = self.costs[name]
        return cost if name in _OF_TIME else min(round(cost / self.speed), 2**32 - 1)


NO_PROCESSOR = Processor(model=FREE, cores=1, costs={})
"""That of a node whose computing takes no time, whatever the other nodes of its network have."""


def processor_names() -> list[str]:
    """Return the names of the models that come with wanlab, `free` first."""
    return [FREE, *sorted(path.stem for path in MODELS.glob("*.yaml"))]


def is_model_file(name: str) -> bool:
    """Whether the name of a model is that of a file, and not of a model that comes with wanlab."""
    return name.endswith((".yaml", ".yml"))


def read_cpu(words: object) -> Processor | None:
    """Return the processor of a model's name, a file's name, or words as above; None for `free`.

    WanlabError if there is no such model or a value is impossible.
    """
    cpu = NO_PROCESSOR if words is None else read_processor(words)
    return None if cpu.is_free else cpu


def read_processor(words: object, folder: Path | None = None) -> Processor:
    """Return the processor of words as `read_cpu`, but `NO_PROCESSOR` for `free`.

    Names of files are relative to `folder`.
    """
    if isinstance(words, Processor):
        return words
    if isinstance(words, str):
        words = {"model": words}
    if not isinstance(words, Mapping):
        raise WanlabError(f"{words!r} does not describe a processor", _EXAMPLE)
    for word in words:
        if word not in (*WORDS, "costs"):
            raise WanlabError(f'unknown field "{word}" of a processor', did_you_mean(word, WORDS))
    model = words.get("model", FREE)
    if not isinstance(model, str):
        raise WanlabError(f"{model!r} is not the name of a processor", _EXAMPLE)
    if "costs" in words:
        cpu = _from_costs(words)
    elif model == FREE:
        if words.keys() - {"model"}:
            raise WanlabError("the processor free has no cores and no speed", _EXAMPLE)
        return NO_PROCESSOR
    else:
        name = str((folder or Path()) / model) if is_model_file(model) else model
        cpu = read_model(name).as_processor()
    return replace(
        cpu,
        cores=_whole("cores", words.get("cores", cpu.cores), 1, MAX_CORES),
        speed=_number("speed", words.get("speed", cpu.speed), MIN_SPEED, MAX_SPEED),
    )


def cpu_name(cpu: Processor | None) -> str:
    """Return the name of a processor's model."""
    return FREE if cpu is None else cpu.model


def cpu_words(cpu: Processor | None) -> dict[str, object]:
    """Return words from which `read_cpu` makes the same processor, without the model's file."""
    if cpu is None:
        return {}
    return {"model": cpu.model, "cores": cpu.cores, "speed": cpu.speed, "costs": dict(cpu.costs)}


def processor_words(cpu: Processor) -> object:
    """Return words from which `read_processor` makes the same processor, as short as possible."""
    if cpu.is_free:
        return FREE
    is_known = cpu.model in processor_names()[1:] and not cpu.is_written_out
    if not is_known or (model := read_model(cpu.model).as_processor()).costs != cpu.costs:
        return cpu_words(cpu)
    changes = {
        word: getattr(cpu, word)
        for word in ("cores", "speed")
        if getattr(cpu, word) != getattr(model, word)
    }
    return {"model": cpu.model, **changes} if changes else cpu.model


def _from_costs(words: Mapping[str, object]) -> Processor:
    costs = words["costs"]
    if not isinstance(costs, Mapping) or set(costs) != set(COSTS):
        raise WanlabError("the costs of the processor are not complete", ", ".join(COSTS))
    checked = {name: _whole(name, costs[name], 0, MAX_COST) for name in COSTS}
    return Processor(model=str(words["model"]), cores=1, costs=checked, is_written_out=True)


def read_model(name: str) -> CpuModel:
    """Read the model of a name or file; raise WanlabError if there is none, with its mistakes."""
    shipped = processor_names()[1:]
    if name == FREE:
        raise WanlabError(
            f"the processor {FREE} has no costs",
            f"use one of {', '.join(shipped)}, or a .yaml file",
        )
    if name not in shipped and not is_model_file(name):
        known = [FREE, *shipped]
        raise WanlabError(
            f'there is no processor "{name}"',
            did_you_mean(name, known) or f"use one of {', '.join(known)}, or a .yaml file",
        )
    path = MODELS / f"{name}.yaml" if name in shipped else Path(name)
    return _parse(read_input(path).decode("utf-8", "replace"), name, path.stem)


@lru_cache(maxsize=8)
def _parse(text: str, file: str, name: str) -> CpuModel:
    from wanlab.yaml_text import parse_yaml  # slow to import

    document = parse_yaml(text, file)
    problems = Problems(document.locate)
    problems.extend(document.problems)
    fields = Fields(document.data, "", problems)
    about = {word: fields.text(word) or "" for word in ABOUT}
    fields.require("cores")
    cores = fields.parsed("cores", partial(_whole, "cores", least=1, most=MAX_CORES))
    costs = dict(_read_costs(fields))
    fields.refuse_rest()
    if problems or cores is None:
        raise InputError(problems, file)
    return CpuModel(
        name=name,
        **about,
        cores=cores,
        costs={name: value for name, (value, _) in costs.items()},
        sources={name: source for name, (_, source) in costs.items()},
    )


def _read_costs(fields: Fields) -> Iterator[tuple[str, tuple[int, str]]]:
    costs = fields.mapping("costs")
    costs.require(*COSTS)
    for name in COSTS:
        if name not in costs:
            continue
        cost = costs.mapping(name)
        cost.require("value", "source")
        source = cost.text("source") or ""
        value = cost.parsed("value", partial(_whole, name, least=0, most=MAX_COST))
        cost.refuse_rest()
        if value is not None:
            yield name, (value, source)
    costs.refuse_rest()


def _whole(word: str, value: object, least: int, most: int) -> int:
    number = _number(word, value, least, most)
    if number != int(number):
        raise WanlabError(f"{word} of a processor must be a whole number, not {value!r}")
    return int(number)


def _number(word: str, value: object, least: float, most: float) -> float:
    limits = f"from {least:g} to {most:g}"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise WanlabError(f"{word} of a processor must be a number, not {value!r}", limits)
    if not least <= value <= most:
        raise WanlabError(f"{word} of a processor cannot be {value:g}", limits)
    return value
