"""Test the operations that lead from one topology to another, without a kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wanlab import Host, Topology, link, shapes
from wanlab.errors import TopologyError
from wanlab.network import topology_diff
from wanlab.operations import AddLink, AddNamespace, Operation
from wanlab.plan import plan
from wanlab.topology import resolve
from wanlab.topology.nic import Nic


def plan_of(topology: Topology) -> tuple[Operation, ...]:
    return plan(topology, wire="mtu", nic=Nic(), sysctls={})


def test_a_new_host_needs_only_the_operations_that_its_plan_adds() -> None:
    before = resolve(shapes.minimal())
    after = topology_diff.with_elements(before, [Host("h9"), link("h9", "s1")])
    added = topology_diff.added_operations(plan_of(before), plan_of(after))
    assert [o.node for o in added if isinstance(o, AddNamespace)] == ["h9"]
    assert len([o for o in added if isinstance(o, AddLink)]) == 1


def test_nothing_is_added_to_an_equal_plan() -> None:
    operations = plan_of(resolve(shapes.minimal()))
    assert topology_diff.added_operations(operations, operations) == []


def test_a_link_to_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(TopologyError, match="h9"):
        topology_diff.with_elements(shapes.minimal(), [link("h9", "s1")])


def test_removing_a_node_removes_its_links() -> None:
    smaller = topology_diff.without_node(shapes.minimal(), "h1")
    assert {node.name for node in smaller.nodes} == {"h2", "s1"}
    assert len(smaller.links) == 1


def test_ports_with_a_speed_keep_it() -> None:
    topology = resolve(shapes.minimal())
    port = replace(topology.links[0].a, speed_bps=5)
    topology = topology_diff.with_default_speed(topology_diff.with_port(topology, port), 7)
    speeds = [port.speed_bps for link in topology.links for port in link.ports]
    assert speeds == [5, 7, 7, 7]
