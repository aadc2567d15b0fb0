"""Files that a topology was partly read from: traces and schedules of links.

In memory their names are whole. A file that is saved names those below its own folder from there, so
that the folder can be moved; what has to stand alone, as a record's provenance, names none and holds
what was in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wanlab.topology.model import Port, Topology


def self_contained(topology: Topology) -> Topology:
    """The same, with no names of files."""
    return _renamed(topology, lambda name: "")


def seen_from(topology: Topology, folder: Path) -> Topology:
    """The same, with names from there."""
    here = folder.absolute()

    def shorter(name: str) -> str:
        whole = Path(name).absolute()
        return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)

    return _renamed(topology, shorter)


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
