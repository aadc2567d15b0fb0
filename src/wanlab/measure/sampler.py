"""Samplers: reading counters at regular instants of the network's clock.

On virtual time the network stands still while it is looked at, so a sample is of one instant and costs
the network nothing. What is read is kept as it came and understood afterwards.

    sampling = Sampling(net, [Queues("s1-eth2"), Flows("h1")], every="10ms")
    sampling.run(until=flow)
    tables = sampling.tables()          # "qdisc", "tcp"
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from wanlab.errors import WanlabError
from wanlab.network import Network, Process
from wanlab.record import Table
from wanlab.units import parse_time

from . import netlink_qdisc, tcp_info

RTM_GETQDISC, SOCK_DIAG_BY_FAMILY = 38, 20
REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
ALL_EXTENSIONS = 0xFF
TCP_LISTEN, TCP_TIME_WAIT = 10, 6
STATES = 0xFFF & ~(1 << TCP_LISTEN | 1 << TCP_TIME_WAIT)

Row = dict[str, Any]
Source = list[str]


class Sampler(Protocol):
    """One thing to look at: which counters it needs, and the rows that they mean."""

    table: str

    def prepare(self, network: Network) -> None: ...

    def sources(self) -> list[Source]: ...

    def rows(self, parts: Sequence[bytes]) -> Iterator[Row]: ...


def _request(kind: int, body: bytes) -> str:
    return (struct.pack("=IHHII", 16 + len(body), kind, REQUEST_DUMP, 1, 0) + body).hex()


class Queues:
    """Backlog, drops and marks of every queueing discipline of some ports. Table "qdisc"."""

    table = "qdisc"

    def __init__(self, *ports: str) -> None:
        self._ports = ports
        self._devices: dict[str, dict[int, str]] = {}

    def prepare(self, network: Network) -> None:
        """Finds the interfaces' numbers."""
        for name in self._ports:
            node = network.namespace_of(network.port(name))
            (index,) = network.read([["file", node, f"/sys/class/net/{name}/ifindex"]])
            self._devices.setdefault(node, {})[int(index)] = name

    def sources(self) -> list[Source]:
        request = _request(RTM_GETQDISC, struct.pack("=B3xiIII", 0, 0, 0, 0, 0))
        return [["route", node, request] for node in self._devices]

    def rows(self, parts: Sequence[bytes]) -> Iterator[Row]:
        for devices, part in zip(self._devices.values(), parts, strict=True):
            for counters in netlink_qdisc.decode(part, devices):
                if counters.device in devices.values():
                    yield counters.row()


class Flows:
    """The TCP flows of some nodes (struct tcp_info). Table "tcp"."""

    table = "tcp"

    def __init__(self, *nodes: str) -> None:
        self._nodes = nodes

    def prepare(self, network: Network) -> None:
        for node in self._nodes:
            network[node]

    def sources(self) -> list[Source]:
        body = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, ALL_EXTENSIONS, STATES)
        return [["sock_diag", node, _request(SOCK_DIAG_BY_FAMILY, body)] for node in self._nodes]

    def rows(self, parts: Sequence[bytes]) -> Iterator[Row]:
        for node, part in zip(self._nodes, parts, strict=True):
            for flow in tcp_info.decode(part):
                yield {"node": node, **flow.row()}


class Sampling:
    """Reads all samplers at the same instants. Time 0 of its tables is where it began."""

    def __init__(
        self, network: Network, samplers: Sequence[Sampler], *, every: str | int = "10ms"
    ) -> None:
        self._network = network
        self._samplers = list(samplers)
        self._every_ns = parse_time(every)
        if self._every_ns <= 0:
            raise WanlabError("samples cannot be taken every 0 s", "every='10ms', for example")
        for sampler in self._samplers:
            sampler.prepare(network)
        self._sources = [sampler.sources() for sampler in self._samplers]
        self.began_ns = network.now_ns
        self._samples: list[tuple[int, list[bytes]]] = []

    def run(
        self,
        until: Process | Sequence[Process] | str | int,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Lets time pass and samples, until processes have ended or for a duration."""
        if isinstance(until, str | int):
            end_ns = self._network.now_ns + parse_time(until)
            self._run(lambda: self._network.now_ns >= end_ns, progress)
        else:
            processes = [until] if isinstance(until, Process) else list(until)
            self._run(lambda: not any(process.is_running for process in processes), progress)

    def _run(self, is_over: Callable[[], bool], progress: Callable[[int], None] | None) -> None:
        next_ns = self._network.now_ns
        while not is_over():
            self.sample()
            next_ns += self._every_ns
            left_ns = next_ns - self._network.now_ns
            if left_ns > 0:
                self._network.run_until_condition(is_over, left_ns)
            if progress is not None:
                progress(self._network.now_ns - self.began_ns)
        self.sample()

    def sample(self) -> None:
        """One reading, now."""
        now_ns = self._network.now_ns - self.began_ns
        sources = [source for group in self._sources for source in group]
        self._samples.append((now_ns, self._network.read(sources)))

    def tables(self) -> dict[str, Table]:
        """What was read, as tables. A sampler that never saw anything has none."""
        rows: dict[str, list[Row]] = {}
        for time_ns, parts in self._samples:
            position = 0
            for sampler, group in zip(self._samplers, self._sources, strict=True):
                own = parts[position : position + len(group)]
                position += len(group)
                found = rows.setdefault(sampler.table, [])
                found += [{"time_ns": time_ns, **row} for row in sampler.rows(own)]
        return {name: Table.from_rows(found) for name, found in rows.items() if found}


def sample(
    network: Network,
    *samplers: Sampler,
    every: str | int = "10ms",
    until: Process | Sequence[Process] | str | int,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Table]:
    """Samples until processes have ended, or for a duration; returns the tables."""
    sampling = Sampling(network, samplers, every=every)
    sampling.run(until, progress=progress)
    return sampling.tables()
