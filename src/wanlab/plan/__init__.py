"""How a topology becomes kernel objects: lists of operations, pure data. It knows no machine."""

from wanlab.topology import Topology, ensure, resolve

from .build import Wire, plan, settling_point
from .script import script


def plan_script(topology: Topology, wire: Wire = "mtu") -> str:
    """A shell script that makes the topology by hand."""
    return script(plan(resolve(ensure(topology)), wire=wire))


__all__ = ["Wire", "plan", "plan_script", "script", "settling_point"]
