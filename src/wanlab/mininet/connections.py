"""The connections between the interfaces of nodes, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .interfaces import NodeOfInterface
from .log import output


class NodesOfNet(Protocol):
    """The nodes of a network."""

    @property
    def hosts(self) -> Sequence[NodeOfInterface]: ...

    @property
    def switches(self) -> Sequence[NodeOfInterface]: ...

    @property
    def controllers(self) -> Sequence[NodeOfInterface]: ...


def connections(node: NodeOfInterface) -> str:
    """Return a node's interfaces with their peers: `h1 h1-eth0:s1-eth1`."""
    parts = [node.name]
    for intf in node.intfList():
        peer: object = ""
        if intf.link:
            peer = next((end for end in intf.link.ends() if end is not intf), " ")
        parts.append(f"{intf}:{peer or ' '}")
    return " ".join(parts)


def dumpNodeConnections(nodes: Iterable[NodeOfInterface]) -> None:
    """Show what each interface of these nodes is connected to."""
    for node in nodes:
        output(connections(node) + "\n")


def dumpNetConnections(net: NodesOfNet) -> None:
    dumpNodeConnections([*net.controllers, *net.switches, *net.hosts])


def dumpPorts(switches: Iterable[NodeOfInterface]) -> None:
    """Show the interfaces of switches with their port numbers."""
    for switch in switches:
        ports = [f"{intf}:{switch.ports[intf]} " for intf in switch.intfList()]
        output(f"{switch.name} {''.join(ports)}\n")
