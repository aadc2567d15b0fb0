"""Reads the qdiscs of the ports of a network again and again, without tc."""

from __future__ import annotations

from collections.abc import Sequence

from wanlab.netlink.port_conditions import read_qdiscs
from wanlab.netlink.qdisc import QdiscCounters
from wanlab.network import Network

from .readings import interface_numbers


class QdiscReader:
    """Reads the qdiscs of ports; no time passes. Interfaces must not be replaced meanwhile."""

    def __init__(self, network: Network, ports: Sequence[str]) -> None:
        self._network = network
        self._devices = interface_numbers(network, ports)

    def read(self) -> dict[str, list[QdiscCounters]]:
        """Return the qdiscs and classes of each port."""
        qdiscs = read_qdiscs(self._network.read, self._devices)
        names = [name for devices in self._devices.values() for name in devices.values()]
        return {name: qdiscs.get(name, []) for name in names}
