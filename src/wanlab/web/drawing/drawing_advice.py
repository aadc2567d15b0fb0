"""Advice on valid documents whose network may carry fewer packets than one expects."""

from __future__ import annotations

from collections.abc import Iterator

from wanlab import Host, Router, Topology
from wanlab.topology import resolve

from ..protocol.messages import DrawingProblem, Location
from ..protocol.model import Document


def advice(document: Document, topology: Topology) -> tuple[DrawingProblem, ...]:
    """Return warnings about routers without addresses, and hosts that cannot reach beyond theirs."""
    ids = {node.name: node.id for node in document.nodes}
    return tuple(
        DrawingProblem(what, hint, Location(ids.get(name, ""), field), "warning", "address")
        for name, field, what, hint in _warnings(topology)
    )


def _warnings(topology: Topology) -> Iterator[tuple[str, str, str, str]]:
    """Yield node, field, problem and advice."""
    routers = [node for node in topology.nodes if isinstance(node, Router)]
    if not routers:
        return
    resolved = resolve(topology)
    addressed = {port.node for link in resolved.links for port in link.ports if port.ip is not None}
    for router in routers:
        if router.name not in addressed and not router.external_interfaces and router.frr is None:
            yield (
                router.name,
                "options.routes",
                "the router has no address, so it forwards nothing",
                "give its ports addresses: select the router, or a link of it",
            )
    behind = _nodes_beside(topology, {router.name for router in routers})
    for host in topology.nodes:
        if isinstance(host, Host) and host.name in behind and _lacks_route(host):
            yield (
                host.name,
                "options.default_route",
                "the host has no default route, so it reaches only its own network",
                f"set its default route to the address of {behind[host.name]}",
            )


def _lacks_route(host: Host) -> bool:
    return not host.default_route and not host.start_command and not host.in_root


def _nodes_beside(topology: Topology, routers: set[str]) -> dict[str, str]:
    """Return the nodes that reach a router through switches only, each with the router."""
    hosts = {node.name for node in topology.nodes if isinstance(node, Host)}
    neighbours: dict[str, set[str]] = {}
    for link in topology.links:
        a, b = link.a.node, link.b.node
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    beside: dict[str, str] = {}
    for router in sorted(routers):
        waiting, seen = [router], {router}
        while waiting:
            for node in sorted(neighbours.get(waiting.pop(), set()) - seen):
                seen.add(node)
                if node in hosts:
                    beside.setdefault(node, router)
                elif node not in routers:
                    waiting.append(node)
    return beside
