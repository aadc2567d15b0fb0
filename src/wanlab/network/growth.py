"""From one topology to a larger or a smaller one, while the network lives.

What has to be done for a larger one is what its plan has beyond the plan of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wanlab.operations import (
    Operation,
)
from wanlab.topology import ensure, resolve
from wanlab.topology.model import Link, Node, Port, Switch, Topology


def addition(topology: Topology, things: Iterable[Node | Link]) -> Topology:
    """The topology and more, resolved. TopologyError for what does not fit into it."""
    things = list(things)
    nodes = tuple(thing for thing in things if isinstance(thing, Node))
    links = tuple(thing for thing in things if isinstance(thing, Link))
    return resolve(
        ensure(replace(topology, nodes=topology.nodes + nodes, links=topology.links + links))
    )


def with_speed(topology: Topology, speed_bps: int) -> Topology:
    """Every port that has no speed of its own gets this one."""

    def put(port: Port) -> Port:
        return replace(port, speed_bps=speed_bps) if port.speed_bps is None else port

    links = tuple(replace(link, a=put(link.a), b=put(link.b)) for link in topology.links)
    return replace(topology, links=links)


def without_link(topology: Topology, port: str) -> Topology:
    links = tuple(link for link in topology.links if port not in {p.name for p in link.ports})
    return replace(topology, links=links)


def without_node(topology: Topology, name: str) -> Topology:
    nodes = tuple(_without_guide(node, name) for node in topology.nodes if node.name != name)
    links = tuple(link for link in topology.links if name not in {p.node for p in link.ports})
    return replace(topology, nodes=nodes, links=links)


def _without_guide(node: Node, controller: str) -> Node:
    if not isinstance(node, Switch) or controller not in node.controllers:
        return node
    return replace(node, controllers=tuple(it for it in node.controllers if it != controller))


def beyond(before: Sequence[Operation], after: Sequence[Operation]) -> list[Operation]:
    """The operations of `after` that `before` has not, in their order."""
    done = {repr(operation) for operation in before}
    return [operation for operation in after if repr(operation) not in done]
