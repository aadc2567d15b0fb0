"""What samplers have in common: they keep what was read as it came, and understand it at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from wanlab.network import Network
from wanlab.record import Table

Source = Sequence[object]
"""What the agent is to read; see `agent.counters`."""
Stream = dict[str, object]
"""What the agent is to follow; see `agent.watches`."""


class Reading(NamedTuple):
    """What was read at one instant."""

    time_ns: int
    place: int
    """Of its source, among those of the sampler."""
    data: bytes


@dataclass(frozen=True)
class Beginning:
    """When sampling began, and what was then said of a sampler's streams."""

    time_ns: int
    """In the time of the tables."""
    clock_ns: int
    """In the time that the kernel puts on events."""
    streams: list[dict[str, object]]


class Sampler(Protocol):
    """One thing to look at: what is to be read, and the tables that it means."""

    def prepare(self, network: Network) -> None:
        """Before any time passes; the place to refuse what cannot be looked at."""
        ...

    def sources(self) -> Sequence[Source]: ...

    def streams(self) -> Sequence[Stream]: ...

    def began(self, beginning: Beginning) -> None: ...

    def take(self, reading: Reading) -> None:
        """The places of streams follow those of the sources."""
        ...

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        """What was lost of each stream. Returns warnings."""
        ...

    def tables(self) -> dict[str, Table]: ...


class Readings:
    """A sampler of counters, but for `prepare`, `sources` and `tables`."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def streams(self) -> Sequence[Stream]:
        return []

    def began(self, beginning: Beginning) -> None:
        """Nothing to do."""

    def take(self, reading: Reading) -> None:
        self.readings.append(reading)

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        return []


def interface_numbers(network: Network, ports: Sequence[str]) -> dict[str, dict[int, str]]:
    """By namespace, the names of ports by the kernel's numbers."""
    devices: dict[str, dict[int, str]] = {}
    for name in ports:
        node = network.namespace_of(network.port(name))
        (number,) = network.read([["file", node, f"/sys/class/net/{name}/ifindex"]])
        devices.setdefault(node, {})[int(number)] = name
    return devices
