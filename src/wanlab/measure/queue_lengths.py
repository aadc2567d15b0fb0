"""Read the queues of all ports at one instant, without keeping samples."""

from __future__ import annotations

from dataclasses import dataclass

from wanlab.errors import WanlabError
from wanlab.netlink import framing, qdisc_dump
from wanlab.netlink.qdisc import QdiscCounters
from wanlab.network import Network

from .port_queue import port_queue
from .readings import interface_numbers


@dataclass(frozen=True)
class QueueReading:
    """The queue of a port at one instant: its length, and all drops so far."""

    backlog_bytes: int
    drops: int


class QueueReader:
    """Reads all ports of a network; no time passes in `read`."""

    def __init__(self, network: Network) -> None:
        names = [str(port.name) for link in network.topology.links for port in link.ports]
        self._network = network
        self._devices = interface_numbers(network, names)

    def read(self) -> dict[str, QueueReading]:
        """Return the queue of each port."""
        sources = [["queues", node, list(devices), []] for node, devices in self._devices.items()]
        try:
            parts = self._network.read(sources)
        except WanlabError:  # an interface was deleted in a terminal
            return {}
        qdiscs: dict[str, list[QdiscCounters]] = {}
        for part, devices in zip(parts, self._devices.values(), strict=True):
            for _, message in framing.dumps(part):
                name = devices.get(qdisc_dump.interface_of(message))
                if name is not None:
                    qdiscs.setdefault(name, []).append(qdisc_dump.read_qdisc(message, name))
        return {
            name: QueueReading(port_queue(counters).backlog_bytes, sum(q.drops for q in counters))
            for name, counters in qdiscs.items()
        }
