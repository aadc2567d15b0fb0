"""How a topology becomes kernel objects: lists of operations, pure data. It knows no machine."""

from itertools import islice

from wanlab.operations import (
    ROOT,
)
from wanlab.topology import Topology, ensure, resolve
from wanlab.topology.model import is_in_root
from wanlab.topology.nic import BY_RULE, Nic

from .build import plan, settling_point
from .change import course
from .nic import Wire
from .script import schedule_script, script


def plan_script(topology: Topology, wire: Wire = "mtu", nic: Nic = BY_RULE) -> str:
    """A shell script that makes the topology by hand."""
    resolved = resolve(ensure(topology))
    parts = [script(plan(resolved, wire=wire, nic=nic))]
    for port in (port for link in resolved.links for port in link.ports):
        home = ROOT if is_in_root(resolved.node(port.node)) else port.node
        repeats = port.conditions.schedule_repeat_ns is not None
        lap = len(port.conditions.states()) - (not repeats)
        if lap and port.conditions.schedule is not None:
            changes = list(islice(course(home, port), lap))
            parts.append(schedule_script(str(port.name), changes, repeats))
    return "".join(parts)


__all__ = ["Wire", "plan", "plan_script", "script", "settling_point"]
