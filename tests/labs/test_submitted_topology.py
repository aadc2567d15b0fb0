"""A submission's topology describes a network, and brings nothing else with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wanlab import Host, Topology, shapes
from wanlab.errors import WanlabError
from wanlab.labs.submitted_topology import refuse_more_than_network
from wanlab.topology.model import Controller, Node

OWN = shapes.minimal()
BEYOND = {
    "a start command": Host("h1", start_command="cp x /usr/bin/iperf3"),
    "a stop command": Host("h1", stop_command="true"),
    "private directories": Host("h1", private_directories=(("/usr/bin", "/home/admin"),)),
    "interfaces of the computer": Host("h1", external_interfaces=("eth0",)),
}


def with_node(topology: Topology, node: Node) -> Topology:
    others = [other for other in topology.nodes if other.name != node.name]
    return replace(topology, nodes=(*others, node))


@pytest.mark.parametrize("what", BEYOND)
def test_what_is_more_than_a_network_is_refused(what: str) -> None:
    topology = with_node(OWN, BEYOND[what])
    with pytest.raises(WanlabError, match=f"^h1: a topology with {what} is not run"):
        refuse_more_than_network(topology, OWN)
    refuse_more_than_network(with_node(topology, Host("h3")), topology)  # the unit has it itself


def test_a_connection_to_the_grader_s_computer_is_refused() -> None:
    controller = Controller("c0", kind="outside", address="127.0.0.1", port=22)
    with pytest.raises(WanlabError, match=r"^c0: a controller outside of the network"):
        refuse_more_than_network(with_node(OWN, controller), OWN)


def test_a_network_is_allowed() -> None:
    refuse_more_than_network(shapes.linear(3), OWN)
