"""Warnings of addresses, datapath IDs and ports that several nodes share.

Such a network can be built, and labs about address conflicts, anycast, NAT and route hijacking need it.
So these are warnings, not problems.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from wanlab.topology.model import Controller, Node, Switch, Topology

_Owners = dict[str, list[tuple[str, str]]]
"""The owners of each address: the node, and its segment."""


def duplicate_warnings(topology: Topology) -> Iterator[str]:
    """Yield a sentence for each IP address, MAC address, datapath ID and controller's port that
    several nodes of a resolved topology share."""
    segments = _segments(topology)
    ips: _Owners = defaultdict(list)
    macs: _Owners = defaultdict(list)
    for link in topology.links:
        for port in link.ports:
            owner = (str(topology.node(port.node)), segments[port.name or ""])
            if port.ip:
                ips[port.ip.partition("/")[0].lower()].append(owner)
            if port.mac:
                macs[port.mac.lower()].append(owner)
    for kind, owners_of in (("the address", ips), ("the MAC address", macs)):
        for address, owners in owners_of.items():
            if len(owners) > 1:
                where = _where([segment for _, segment in owners])
                yield f"{_all_of([node for node, _ in owners])} {kind} {address}, {where}"
    yield from _equal_dpids(topology)
    yield from _equal_listeners(topology)


def listening_address(controller: Controller) -> tuple[str, int] | None:
    """Return the address in the machine at which our controller, or the relay to an outside one,
    listens."""
    if controller.is_ours:
        return controller.address, controller.port
    return ("127.0.0.1", controller.port) if controller.kind == "outside" else None


def _equal_dpids(topology: Topology) -> Iterator[str]:
    by_dpid: dict[int, list[str]] = defaultdict(list)
    for switch in topology.switches:
        if switch.kind == "ovs" and switch.dpid is not None:
            by_dpid[int(switch.dpid, 16)].append(str(switch))
    for dpid, names in by_dpid.items():
        if len(names) > 1:
            yield f"{_all_of(names)} the datapath ID {dpid:x}; a controller cannot tell them apart"


def _equal_listeners(topology: Topology) -> Iterator[str]:
    by_address: dict[tuple[str, int], list[str]] = defaultdict(list)
    for controller in topology.controllers:
        if (listener := listening_address(controller)) is not None:
            by_address[listener].append(str(controller))
    for (address, port), names in by_address.items():
        if len(names) > 1:
            yield (
                f"{_all_of(names)} the port {address}:{port}; the first of them serves the switches "
                "of all (give each controller its own port to start them all)"
            )


def _all_of(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    if len(distinct) == 1:
        return f"{distinct[0]} has several ports with"
    return f"{', '.join(distinct[:-1])} and {distinct[-1]} have"


def _where(segments: list[str]) -> str:
    return "in separate segments" if len(set(segments)) == len(segments) else "in one segment"


def _segments(topology: Topology) -> dict[str, str]:
    """Return for each port's name the name of its segment: ports that switches and links join."""
    parents: dict[str, str] = {}

    def root(key: str) -> str:
        while (parent := parents.setdefault(key, key)) != key:
            parents[key] = key = parents[parent]
        return key

    def of_node(node: Node, port: str) -> str:
        return f"switch {node.name}" if isinstance(node, Switch) else port

    names = [(port.node, port.name or "") for link in topology.links for port in link.ports]
    for link in topology.links:
        a, b = (of_node(topology.node(port.node), port.name or "") for port in link.ports)
        parents[root(a)] = root(b)
    return {name: root(of_node(topology.node(node), name)) for node, name in names}


__all__ = ["duplicate_warnings", "listening_address"]
