"""What a topology needs of the computer besides the usual tools, so that it is missed before a start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wanlab.operations import (
    FRR_PROGRAMS,
)
from wanlab.topology.model import Topology

from .routing import programs_for


@dataclass(frozen=True)
class Need:
    """A program, the Debian package that brings it, and the thing that wants it."""

    program: str
    package: str
    wanted_by: str


def needs(topology: Topology) -> Iterator[Need]:
    for switch in topology.switches:
        if switch.kind == "ovs":
            for program in ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl"):
                yield Need(program, "openvswitch-switch", str(switch))
            break
    for router in topology.routers:
        if router.frr is not None:
            for program in programs_for(router.frr):
                yield Need(f"{FRR_PROGRAMS}/{program}", "frr", str(router))
            yield Need("vtysh", "frr", str(router))
