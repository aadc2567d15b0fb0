"""Changes a topology into a larger or a smaller one while the network runs.

To reach a larger one, perform the operations that its plan adds to the previous plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from wanlab.operations import Operation
from wanlab.topology import ensure, resolve
from wanlab.topology.model import Host, Link, Node, Port, Switch, Topology


def with_elements(topology: Topology, elements: Iterable[Node | Link]) -> Topology:
    """Return the topology with more nodes and links, resolved. TopologyError if they do not fit
    in."""
    elements = list(elements)
    nodes = tuple(element for element in elements if isinstance(element, Node))
    links = _with_later_ports(
        topology, [element for element in elements if isinstance(element, Link)]
    )
    return resolve(
        ensure(replace(topology, nodes=topology.nodes + nodes, links=topology.links + links))
    )


def _with_later_ports(topology: Topology, links: Iterable[Link]) -> tuple[Link, ...]:
    """Return new links whose ports come after the ports that a host has.

    A host's first port has the addresses of the host, which must not change while it runs.
    """
    numbers = {
        node.name: max(port.number or 0 for port in ports) + 1
        for node in topology.nodes
        if isinstance(node, Host) and (ports := topology.ports(node.name))
    }

    def later(port: Port) -> Port:
        if port.number is not None or port.node not in numbers:
            return port
        number = numbers[port.node]
        numbers[port.node] += 1
        return replace(port, number=number)

    return tuple(replace(link, a=later(link.a), b=later(link.b)) for link in links)


def with_default_speed(topology: Topology, speed_bps: int) -> Topology:
    """Return the topology with this speed at every port that has none of its own."""

    def with_speed(port: Port) -> Port:
        return replace(port, speed_bps=speed_bps) if port.speed_bps is None else port

    return _with_ports(topology, with_speed)


def with_port(topology: Topology, changed: Port) -> Topology:
    """Return the topology with `changed` in place of the port of that name."""
    return _with_ports(topology, lambda port: changed if port.name == changed.name else port)


def without_link(topology: Topology, port: str, *, keep_addresses: bool = True) -> Topology:
    """Return the topology without the link that has a port of this name.

    A host has the addresses of its first port, so they change with it. Without ports, it keeps them for
    its next link if `keep_addresses` is true.
    """
    links = tuple(link for link in topology.links if port not in {p.name for p in link.ports})
    return _with_first_addresses(replace(topology, links=links), topology, keep_addresses)


def without_node(topology: Topology, name: str) -> Topology:
    """Return the topology without a node and its links."""
    nodes = tuple(_without_controller(node, name) for node in topology.nodes if node.name != name)
    links = tuple(link for link in topology.links if name not in {p.node for p in link.ports})
    return _with_first_addresses(replace(topology, nodes=nodes, links=links), topology, True)


def _with_first_addresses(topology: Topology, before: Topology, keep: bool) -> Topology:
    """Return the topology with the addresses of its hosts' first ports as those of the hosts."""

    def changed(node: Node) -> Node:
        ports = topology.ports(node.name)
        if not isinstance(node, Host) or ports[:1] == before.ports(node.name)[:1]:
            return node
        if ports:
            return replace(node, ip=ports[0].ip or "", mac=ports[0].mac)
        return node if keep else replace(node, ip="", mac=None)

    return replace(topology, nodes=tuple(changed(node) for node in topology.nodes))


def added_operations(before: Sequence[Operation], after: Sequence[Operation]) -> list[Operation]:
    """Return the operations of `after` that are not in `before`, in their order."""
    performed = {repr(operation) for operation in before}
    return [operation for operation in after if repr(operation) not in performed]


def _with_ports(topology: Topology, change: Callable[[Port], Port]) -> Topology:
    links = tuple(replace(link, a=change(link.a), b=change(link.b)) for link in topology.links)
    return replace(topology, links=links)


def _without_controller(node: Node, controller: str) -> Node:
    if not isinstance(node, Switch) or controller not in node.controllers:
        return node
    return replace(node, controllers=tuple(name for name in node.controllers if name != controller))
