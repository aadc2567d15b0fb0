"""Computes positions for the nodes of topologies that have none.

    a chain of switches and routers    from left to right; hosts at its ends to the left and right,
                                       other hosts below
    a tree                             from its middle downwards
    with loops                         switches and routers on a circle, their hosts outside of it

Parts that are not connected are placed below one another, controllers above everything.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from wanlab.topology.model import Controller, Host, Topology

STEP_X, STEP_Y = 170.0, 90.0
"""Distances between nodes, in pixels of the canvas; y grows downwards."""
Point = tuple[float, float]
Graph = Mapping[str, list[str]]
"""The neighbours of each node, by name."""


def arranged(topology: Topology) -> Topology:
    """Return the topology with computed positions, or unchanged if its nodes do not overlap."""
    positions = {(node.x, node.y) for node in topology.nodes}
    if len(positions) == len(topology.nodes):
        return topology
    points = node_positions(topology)
    nodes = tuple(
        replace(node, x=points[node.name][0], y=points[node.name][1]) for node in topology.nodes
    )
    return replace(topology, nodes=nodes)


def node_positions(topology: Topology) -> dict[str, Point]:
    """Return the position of every node by name, in pixels; the smallest coordinates are 0."""
    # As sets that keep the order of the links.
    linked: dict[str, dict[str, None]] = {
        node.name: {} for node in topology.nodes if not isinstance(node, Controller)
    }
    for link in topology.links:
        a, b = link.a.node, link.b.node
        if a in linked and b in linked:
            linked[a][b] = linked[b][a] = None
    neighbours = {name: list(names) for name, names in linked.items()}
    hosts = {node.name for node in topology.nodes if isinstance(node, Host)}
    positions: dict[str, Point] = {}
    top = 0.0
    for part in _parts(neighbours):
        points = _part_positions(part, neighbours, hosts)
        left, upper = min(x for x, _ in points.values()), min(y for _, y in points.values())
        positions |= {name: (x - left, y - upper + top) for name, (x, y) in points.items()}
        top += max(y for _, y in points.values()) - upper + STEP_Y
    for number, controller in enumerate(topology.controllers):
        positions[controller.name] = (number * STEP_X, -STEP_Y)
    lowest = min((y for _, y in positions.values()), default=0.0)
    return {name: (round(x), round(y - lowest)) for name, (x, y) in positions.items()}


def _parts(neighbours: Graph) -> Iterable[list[str]]:
    """Yield the connected components, each as a list of names."""
    seen: set[str] = set()
    for name in neighbours:
        if name not in seen:
            part = list(_distances(name, neighbours))
            seen |= set(part)
            yield part


def _part_positions(part: list[str], neighbours: Graph, hosts: set[str]) -> dict[str, Point]:
    """Place one component. Hosts with one link are its leaves, the other nodes its core."""
    inner = [name for name in part if name not in hosts or len(neighbours[name]) > 1] or part
    inner_names = set(inner)
    core = {name: [other for other in neighbours[name] if other in inner_names] for name in inner}
    leaves = {name: [other for other in neighbours[name] if other not in core] for name in inner}
    links = sum(map(len, core.values())) // 2
    if links >= len(inner) and len(inner) > 2:
        return _circle(inner, leaves)
    if all(len(others) <= 2 for others in core.values()):
        return _chain(_path(core), leaves)
    return _tree(_path(core), neighbours)


def _distances(start: str, neighbours: Graph) -> dict[str, int]:
    """Return the hops from `start` to every node that it reaches, nearest first."""
    distances = {start: 0}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for other in neighbours[name]:
            if other not in distances:
                distances[other] = distances[name] + 1
                waiting.append(other)
    return distances


def _path(neighbours: Graph) -> list[str]:
    """Return a longest path through a tree, beginning at the end that the topology lists first."""
    far = list(_distances(next(iter(neighbours)), neighbours))[-1]
    distances = _distances(far, neighbours)
    path = [list(distances)[-1]]
    while path[-1] != far:
        path.append(min(neighbours[path[-1]], key=lambda name: distances[name]))
    order = list(neighbours)
    return path if order.index(path[0]) <= order.index(path[-1]) else path[::-1]


def _chain(path: list[str], leaves: Graph) -> dict[str, Point]:
    """Place `path` in a row, leaves of its ends beside it and the others below."""
    positions = {name: (number * STEP_X, 0.0) for number, name in enumerate(path)}
    first, last = leaves[path[0]], leaves[path[-1]]
    if len(path) == 1:
        half = (len(first) + 1) // 2
        first, last = first[:half], first[half:]
    positions |= _column(first, -STEP_X)
    positions |= _column(last, len(path) * STEP_X)
    for number, name in enumerate(path[1:-1], start=1):
        for index, leaf in enumerate(leaves[name]):
            is_alone = len(leaves[name]) == 1
            offset = 0.0 if is_alone else (index % 2 - 0.5) * STEP_X / 2
            positions[leaf] = (number * STEP_X + offset, (index // 2 + 1) * STEP_Y)
    return positions


def _column(names: list[str], x: float) -> dict[str, Point]:
    """Place nodes below one another, with the row of the chain at their middle."""
    top = -(len(names) - 1) / 2 * STEP_Y
    return {name: (x, top + row * STEP_Y) for row, name in enumerate(names)}


def _tree(path: list[str], neighbours: Graph) -> dict[str, Point]:
    """Place a tree, with the middle of its longest path as the root."""
    root = path[len(path) // 2]
    depths = _distances(root, neighbours)
    children = {
        name: [other for other in neighbours[name] if depths[other] > depths[name]]
        for name in depths
    }
    positions: dict[str, Point] = {}
    width = 0.0
    # Leaves first, then from the deepest up, so that a parent can be centred above its children.
    order: list[str] = []
    waiting = [root]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children[order[-1]])
    for name in order:
        if not children[name]:
            positions[name] = (width, depths[name] * STEP_Y * 1.2)
            width += STEP_X / 2
    for name in reversed(order):
        if children[name]:
            xs = [positions[child][0] for child in children[name]]
            positions[name] = ((min(xs) + max(xs)) / 2, depths[name] * STEP_Y * 1.2)
    return positions


def _circle(inner: list[str], leaves: Graph) -> dict[str, Point]:
    """Place the core on a circle, from the top clockwise, and its leaves on a larger one."""
    radius = max(1.0, len(inner) / 5) * STEP_X
    max_leaves = max(map(len, leaves.values()), default=0)
    positions: dict[str, Point] = {}
    for number, name in enumerate(inner):
        angle = 2 * math.pi * number / len(inner) - math.pi / 2
        positions[name] = (radius * math.cos(angle), radius * math.sin(angle))
        step = 2 * math.pi / len(inner) / max(1, max_leaves)
        for index, leaf in enumerate(leaves[name]):
            leaf_angle = angle + (index - (len(leaves[name]) - 1) / 2) * step
            positions[leaf] = (
                (radius + STEP_X) * math.cos(leaf_angle),
                (radius + STEP_X) * math.sin(leaf_angle),
            )
    return positions
