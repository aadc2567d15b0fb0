"""Files that a topology refers to: traces and schedules of links.

In memory their names are absolute. A saved topology file uses relative names for files below its own
folder, so that the folder can be moved. A topology that must be self-contained, such as the one in a
record's provenance, has the content of these files instead of their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wanlab.topology.model import Port, Topology


def self_contained(topology: Topology) -> Topology:
    """Return the topology with the content of its files instead of their names."""
    return _renamed(topology, lambda name: "")


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
