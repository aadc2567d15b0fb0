"""From one state of a port to another, while the network lives."""

from __future__ import annotations

from wanlab.agent.operations import Operation, Shape
from wanlab.topology.model import Port

from .shaping import shape_lines


def reshape(namespace: str, before: Port, after: Port) -> list[Operation]:
    """Operations that replace a port's queueing disciplines. What waits in the old ones is lost."""
    name = after.name
    assert name is not None
    remove = (f"qdisc del dev {name} root",) if shape_lines(before) else ()
    lines = remove + shape_lines(after)
    return [Shape(namespace, name, lines)] if lines else []
