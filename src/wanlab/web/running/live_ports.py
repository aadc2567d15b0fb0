"""The ports of the running network: addresses, what `tc` has set at them, and why they lost packets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.measure.interfaces import Interface, interfaces
from wanlab.measure.lost_packets import causes_at
from wanlab.measure.qdisc_reader import QdiscReader
from wanlab.netlink.port_conditions import PortConditions, conditions_of
from wanlab.netlink.qdisc import QdiscCounters
from wanlab.network import computing_real_s, computing_warnings
from wanlab.units import format_fraction, format_rate, format_size, format_time

from ..drawing.document import network_links
from ..protocol.messages import LivePort
from ..protocol.model import End, Options
from .run_plan import RunPlan

TC_WORDS = ("rate", "delay", "jitter", "loss", "duplicate", "corrupt", "queue")
"""The options that are read from the network."""
COMPUTING_REAL_S, COMPUTING_SHARE = 3.0, 0.1
"""The times of programs are read after 3 s, later after a tenth of the time since the start."""


@dataclass(frozen=True)
class PortReadings:
    """The state of all ports at one instant: interfaces by node and name, the rest by port."""

    now_ns: int
    interfaces: Mapping[tuple[str, str], Interface]
    conditions: Mapping[str, PortConditions]
    losses: Mapping[str, str]
    """Why packets have been lost; see `causes_at`."""
    warnings: tuple[str, ...] = ()
    """Those of the network."""


class ComputingWatch:
    """Finds out whose programs compute for long. Reads ever more rarely: the times only grow."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._found: dict[str, str] = {}
        self._began_real_s = time.monotonic()
        self._next_real_s = self._began_real_s + COMPUTING_REAL_S

    def warnings(self) -> tuple[str, ...]:
        """Return a warning for each such node, as it was when it was found."""
        now_real_s = time.monotonic()
        if now_real_s >= self._next_real_s:
            self._next_real_s = now_real_s + max(
                COMPUTING_REAL_S, COMPUTING_SHARE * (now_real_s - self._began_real_s)
            )
            with suppress(WanlabError):  # a node's namespace was removed in a terminal
                self._look()
        return tuple(self._found.values())

    def _look(self) -> None:
        for name, real_s in computing_real_s(self._network).items():
            if name not in self._found:
                for warning in computing_warnings({name: real_s}, self._network.now_ns):
                    self._found[name] = warning


class PortReader:
    """Reads the state of all ports. Lives in the network's thread; no time passes."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._names = [str(port.name) for link in network.topology.links for port in link.ports]
        self._reader: QdiscReader | None = None
        self._conditions: Mapping[str, PortConditions] = {}
        self._computing = ComputingWatch(network)
        self._read_real_s = 0.0

    def is_due(self, after_real_s: float) -> bool:
        """Return whether the last reading is that old."""
        return time.monotonic() - self._read_real_s > after_real_s

    def read(self) -> PortReadings:
        """Read the state now."""
        self._read_real_s = time.monotonic()
        qdiscs = self._read_qdiscs()
        conditions = {name: conditions_of(of_port) for name, of_port in qdiscs.items()}
        if conditions != self._conditions:
            self._conditions = conditions
            with suppress(WanlabError):  # a node's namespace was removed in a terminal
                self._network.look_at_queues()
        return PortReadings(
            self._network.now_ns,
            interfaces(self._network),
            conditions,
            {name: causes_at(of_port) for name, of_port in qdiscs.items()},
            (*self._network.warnings, *self._computing.warnings()),
        )

    def _read_qdiscs(self) -> Mapping[str, Sequence[QdiscCounters]]:
        try:
            if self._reader is None:
                self._reader = QdiscReader(self._network, self._names)
            return self._reader.read()
        except WanlabError:  # an interface was deleted in a terminal
            self._reader = None
            return {}


class LivePorts:
    """The ports as browsers show them. Conditions count as drawn until they change by themselves."""

    def __init__(self, plan: RunPlan, network: Network, readings: PortReadings) -> None:
        self._names = {node.id: node.name for node in plan.document.nodes}
        self._drawn = dict(readings.conditions)
        drawn = network_links(plan.document)
        ports = [
            port
            for link, live in zip(drawn, network.topology.links, strict=True)
            for port in (
                LivePort(link.id, "a", link.a, str(live.a.name)),
                LivePort(link.id, "b", link.b, str(live.b.name)),
            )
        ]
        self.ports: tuple[LivePort, ...] = self._updated(ports, readings)

    def update(self, readings: PortReadings) -> bool:
        """Take new readings; return whether browsers show something else now."""
        ports = self._updated(self.ports, readings)
        is_new = ports != self.ports
        self.ports = ports
        return is_new

    def set_drawn(self, names: Sequence[str], readings: PortReadings) -> None:
        """Note that these ports have the conditions that are drawn."""
        self._drawn |= {name: readings.conditions.get(name, PortConditions()) for name in names}
        self.update(readings)

    def names_of(self, link: str) -> tuple[str, str]:
        """Return the names of the two ports of a link."""
        names = [port.name for port in self.ports if port.link == link]
        if len(names) != 2:
            raise WanlabError(
                "this link is not in the running network", "stop the network and run it again"
            )
        return names[0], names[1]

    def set_by_tc(self, link: str) -> dict[End, Options]:
        """Return by end what `tc` has set at a link, with None for conditions that it removed."""
        return {
            port.end: {word: port.tc.get(word) for word in TC_WORDS}
            for port in self.ports
            if port.link == link and port.tc is not None
        }

    def _updated(self, ports: Sequence[LivePort], readings: PortReadings) -> tuple[LivePort, ...]:
        return tuple(self._port(port, readings) for port in ports)

    def _port(self, port: LivePort, readings: PortReadings) -> LivePort:
        interface = readings.interfaces.get((self._names[port.node], port.name))
        conditions = readings.conditions.get(port.name)
        is_drawn = conditions is None or conditions == self._drawn.get(port.name)
        return msgspec.structs.replace(
            port,
            mac=interface.mac if interface else "",
            addresses=interface.addresses if interface else (),
            is_up=interface is not None and interface.is_up,
            tc=None if is_drawn or conditions is None else options_of(conditions),
            lost=readings.losses.get(port.name, ""),
        )


def options_of(conditions: PortConditions) -> Options:
    """Return conditions as options of a link, in the words of a document."""
    options: Options = {}
    if conditions.rate_bps is not None:
        options["rate"] = format_rate(conditions.rate_bps)
    if conditions.delay_ns:
        options["delay"] = format_time(conditions.delay_ns)
    if conditions.jitter_ns:
        options["jitter"] = format_time(conditions.jitter_ns)
    fractions = {
        "loss": conditions.loss_fraction,
        "duplicate": conditions.duplicate_fraction,
        "corrupt": conditions.corrupt_fraction,
    }
    for word, fraction in fractions.items():
        if fraction:
            options[word] = format_fraction(float(f"{fraction:.4g}"))
    if conditions.queue:
        options["queue"] = conditions.queue
    elif conditions.limit_bytes is not None:
        options["queue"] = {"kind": "fifo", "limit": format_size(conditions.limit_bytes)}
    return options
