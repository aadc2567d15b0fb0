"""Turns a topology into operations, which are plain data. No machine is needed for that.

build      all operations, in the order in which they are performed
nic        the settings of a port's NIC            shaping   its queueing disciplines
switches   bridges, Open vSwitch, controllers      routing   programs of FRRouting
change     from one state of a live port to another
needs      the programs that a topology needs
script     a plan as a shell script
"""

from itertools import islice

from wanlab.operations import (
    ROOT,
)
from wanlab.topology import Topology, ensure, gateway_warnings, loop_warnings, resolve
from wanlab.topology.model import is_in_root
from wanlab.topology.nic import BY_RULE, Nic

from .build import plan, settling_point
from .change import schedule_changes
from .nic import Wire
from .script import schedule_script, script


def plan_script(topology: Topology, wire: Wire = "mtu", nic: Nic = BY_RULE) -> str:
    """Return a shell script that builds the topology by hand, schedules included."""
    resolved = resolve(ensure(topology))
    parts = [
        script(
            plan(resolved, wire=wire, nic=nic),
            [*loop_warnings(resolved), *gateway_warnings(resolved)],
        )
    ]
    for port in (port for link in resolved.links for port in link.ports):
        namespace = ROOT if is_in_root(resolved.node(port.node)) else port.node
        repeats = port.conditions.schedule_repeat_ns is not None
        length = len(port.conditions.states()) - (not repeats)
        if length and port.conditions.schedule is not None:
            changes = list(islice(schedule_changes(namespace, port), length))
            parts.append(schedule_script(str(port.name), changes, repeats))
    return "".join(parts)


__all__ = ["Wire", "plan", "plan_script", "script", "settling_point"]
