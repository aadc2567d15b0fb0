"""Finds loops of switches in which broadcasts circulate for ever."""

from __future__ import annotations

from collections import Counter

from .model import Switch, Topology

STORM_PACKETS_PER_S = 100
"""The limit of packets that a switch in a loop sends to its controller: Open vSwitch's lowest one."""
STORM_BURST_PACKETS = 1000


def unprotected_loops(topology: Topology, *, with_silent: bool = False) -> list[list[str]]:
    """Return, for each part of the network with such a loop, the names of its switches.

    With `with_silent`, switches that forward nothing without a controller count, too: they may get one.

    A switch with the spanning tree protocol stops every loop that it is in, because the others pass
    its messages on. So these switches are removed first. Then switches with at most one link to the
    remaining ones, which are in no loop, are removed repeatedly.
    """
    neighbours: dict[str, Counter[str]] = {
        switch.name: Counter()
        for switch in topology.switches
        if not switch.stp and (with_silent or not _is_silent(switch))
    }
    for link in topology.links:
        a, b = link.a.node, link.b.node
        if a in neighbours and b in neighbours:
            neighbours[a][b] += 1
            neighbours[b][a] += 1
    ends = [name for name, others in neighbours.items() if others.total() <= 1]
    while ends:
        name = ends.pop()
        for other in neighbours.pop(name, Counter()):
            del neighbours[other][name]
            if neighbours[other].total() <= 1:
                ends.append(other)
    return _parts(neighbours)


def storm_settings(name: str, topology: Topology) -> list[str]:
    """Return columns of Open vSwitch's table Controller for a switch; none if it is in no such loop.

    In a storm, a switch sends each copy of a broadcast to its controller, which computes for each. Real
    controllers are slow, so switches drop most of these packets. On virtual time a controller is never
    too slow, so the rate is limited instead.
    """
    loops = unprotected_loops(topology, with_silent=True)
    if not any(name in names for names in loops):
        return []
    return [
        f"controller_rate_limit={STORM_PACKETS_PER_S}",
        f"controller_burst_limit={STORM_BURST_PACKETS}",
    ]


def loop_warnings(topology: Topology, *, with_silent: bool = False) -> list[str]:
    """Return a warning for each part of the network with an unprotected loop."""
    return [
        f"the switches {', '.join(names)} form a loop and none of them speaks STP: a broadcast "
        "circulates forever (enable stp on one of them, with --stp of wanlab mn, or remove a link)"
        if len(names) > 1
        else f"the switch {names[0]} is linked to itself and does not speak STP: a broadcast "
        "circulates forever (enable stp on it, or remove the link)"
        for names in unprotected_loops(topology, with_silent=with_silent)
    ]


def _is_silent(switch: Switch) -> bool:
    """Whether the switch forwards nothing without a controller, whose decisions are unknown here."""
    secure = switch.fail_mode or ("secure" if switch.controllers else "standalone")
    return switch.kind == "ovs" and secure == "secure" and not switch.controllers


def _parts(neighbours: dict[str, Counter[str]]) -> list[list[str]]:
    """Return the connected parts of a graph, in the order of its nodes."""
    parts, seen = [], set[str]()
    for start in neighbours:
        waiting, part = [start], set[str]()
        while waiting:
            name = waiting.pop()
            if name not in part:
                part.add(name)
                waiting += neighbours[name]
        if start not in seen:
            parts.append([name for name in neighbours if name in part])
        seen |= part
    return parts
