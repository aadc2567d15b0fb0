"""The protocol of samplers: they keep raw readings, and parse them at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from wanlab.network import Network

if TYPE_CHECKING:
    from wanlab.record import Table

Source = Sequence[object]
"""A description of a counter that the agent reads at each sample; see `agent.counters`."""
Stream = dict[str, object]
"""A description of events that the agent collects between samples; see `agent.watches`."""


class Reading(NamedTuple):
    """The data of one source or stream at one instant."""

    time_ns: int
    place: int
    """The index of its source among those of the sampler; streams follow the sources."""
    data: bytes


@dataclass(frozen=True)
class Beginning:
    """The time at which sampling began, and the agent's descriptions of a sampler's streams."""

    time_ns: int
    """On the clock of the tables."""
    clock_ns: int
    """On the clock of the kernel's events."""
    streams: list[dict[str, object]]


class Sampler(Protocol):
    """States which counters to read, and makes tables of the readings."""

    def prepare(self, network: Network) -> None:
        """Prepare before any time passes; raise WanlabError if something cannot be sampled."""
        ...

    def sources(self) -> Sequence[Source]: ...

    def streams(self) -> Sequence[Stream]: ...

    def began(self, beginning: Beginning) -> None: ...

    def take(self, reading: Reading) -> None:
        """Keep a reading."""
        ...

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        """Finish, and return warnings. `lost` is the number of lost events of each stream."""
        ...

    def tables(self) -> dict[str, Table]: ...


class Readings:
    """Base of samplers of counters, which add `prepare`, `sources` and `tables`."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def streams(self) -> Sequence[Stream]:
        return []

    def began(self, beginning: Beginning) -> None:
        """Counters need no starting point."""

    def take(self, reading: Reading) -> None:
        self.readings.append(reading)

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        return []


def interface_numbers(network: Network, ports: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return, for each namespace, the names of its ports by interface index."""
    nodes = [network.namespace_of(network.port(name)) for name in ports]
    sources = [["index", node, name] for node, name in zip(nodes, ports, strict=True)]
    devices: dict[str, dict[int, str]] = {}
    for node, name, number in zip(nodes, ports, network.read(sources), strict=True):
        devices.setdefault(node, {})[int(number)] = name
    return devices
