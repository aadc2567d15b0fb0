"""Files that a topology refers to: traces and schedules of links, and models of processors.

In memory their names are absolute. A saved topology file uses relative names for files below its own
folder, so that the folder can be moved. A topology that must be self-contained, such as the one in a
record's provenance, has the content of these files instead of their names. Models of processors are
always in memory; a self-contained topology has also the content of those that come with wanlab.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wanlab.topology.cpu import Processor
from wanlab.topology.model import Host, Node, Port, Router, Topology


def self_contained(topology: Topology) -> Topology:
    """Return the topology with the content of its files instead of their names."""
    nodes = tuple(_with_costs(node) for node in topology.nodes)
    cpu = topology.cpu and replace(topology.cpu, is_written_out=True)
    return _renamed(replace(topology, nodes=nodes, cpu=cpu), lambda name: "")


def _with_costs(node: Node) -> Node:
    if isinstance(node, Host | Router) and isinstance(node.cpu, Processor):
        return replace(node, cpu=replace(node.cpu, is_written_out=True))
    return node


def seen_from(topology: Topology, folder: Path) -> Topology:
    """Return the topology with names relative to `folder` for the files below it."""
    base = folder.absolute()

    def relative_name(name: str) -> str:
        path = Path(name).absolute()
        return str(path.relative_to(base) if path.is_relative_to(base) else path)

    return _renamed(topology, relative_name)


def _renamed(topology: Topology, rename: Callable[[str], str]) -> Topology:
    def renamed(port: Port) -> Port:
        trace, schedule = port.conditions.trace, port.conditions.schedule
        if trace is not None and trace.file:
            trace = replace(trace, file=rename(trace.file))
        if schedule is not None and schedule.file:
            schedule = replace(schedule, file=rename(schedule.file))
        conditions = replace(port.conditions, trace=trace, schedule=schedule)
        return replace(port, conditions=conditions)

    if all(
        port.conditions.trace is None and port.conditions.schedule is None
        for link in topology.links
        for port in link.ports
    ):
        return topology
    links = tuple(replace(link, a=renamed(link.a), b=renamed(link.b)) for link in topology.links)
    return replace(topology, links=links)
