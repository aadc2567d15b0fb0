"""The programs that a topology needs besides the usual tools, so that they can be checked before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from wanlab.operations import (
    FRR_PROGRAMS,
)
from wanlab.topology.model import Topology

from .routing import programs_for


@dataclass(frozen=True)
class RequiredProgram:
    """A program, its Debian package, and the part of the topology that needs it."""

    program: str
    package: str
    needed_by: str


def required_programs(topology: Topology) -> Iterator[RequiredProgram]:
    """Yield the programs of Open vSwitch and FRRouting that a topology needs."""
    by_kind = (switch for switch in topology.switches if switch.kind == "ovs")
    by_command = (node for node in topology.nodes if "ovs-vsctl" in (node.start_command or ""))
    if (first := next(chain(by_kind, by_command), None)) is not None:
        for program in ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl"):
            yield RequiredProgram(program, "openvswitch-switch", str(first))
    for router in topology.routers:
        if router.frr is not None:
            for program in programs_for(router.frr):
                yield RequiredProgram(f"{FRR_PROGRAMS}/{program}", "frr", str(router))
            yield RequiredProgram("vtysh", "frr", str(router))
