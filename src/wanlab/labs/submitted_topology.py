"""Refuses topologies of a submission that would do more than describe a network.

The agent builds a topology outside of the sandbox, before the checks, and with its own privileges. So a
topology that a submission has written must not bring commands, mounts, or connections to the grader's
computer with it. What the unit's own topology has is allowed.
"""

from __future__ import annotations

from wanlab import Host, Switch, Topology
from wanlab.errors import WanlabError


def refuse_more_than_network(topology: Topology, own: Topology) -> None:
    """Raise WanlabError unless `topology` only describes a network. `own` is the unit's topology."""
    own_nodes = {node.name: node for node in own.nodes}
    for node in topology.nodes:
        if node == own_nodes.get(node.name):
            continue
        for what, value, own_value in _beyond_network(node, own_nodes.get(node.name)):
            if value and value != own_value:
                raise WanlabError(
                    f"{node.name}: a topology with {what} is not run while work is graded",
                    "type commands in a terminal",
                )
    own_controllers = set(own.controllers)
    for controller in topology.controllers:
        if controller.kind == "outside" and controller not in own_controllers:
            raise WanlabError(
                f"{controller.name}: a controller outside of the network is not used while work is "
                "graded"
            )


def _beyond_network(node: object, own: object) -> list[tuple[str, object, object]]:
    """Return (what it is, its value, the value in the unit's own topology)."""
    names = {"start_command": "a start command", "stop_command": "a stop command"}
    if isinstance(node, Host):
        names["private_directories"] = "private directories"
    if isinstance(node, Host | Switch):
        names["external_interfaces"] = "interfaces of the computer"
    return [(what, getattr(node, name), getattr(own, name, None)) for name, what in names.items()]
