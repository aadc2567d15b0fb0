"""How a topology becomes kernel objects: lists of operations, pure data. It knows no machine."""

from wanlab.topology import Topology, ensure, resolve
from wanlab.topology.nic import BY_RULE, Nic

from .build import plan, settling_point
from .card import Wire
from .script import script


def plan_script(topology: Topology, wire: Wire = "mtu", nic: Nic = BY_RULE) -> str:
    """A shell script that makes the topology by hand."""
    return script(plan(resolve(ensure(topology)), wire=wire, nic=nic))


__all__ = ["Wire", "plan", "plan_script", "script", "settling_point"]
