"""Test the operations that lead from one topology to another, without a kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wanlab import Host, Port, Topology, link, shapes
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


def two_links() -> Topology:
    """Return h1, which has a link to each of h2 and h3, and an address on the first."""
    ends = (Port("h1", ip="10.0.1.1/24"), "h2"), (Port("h1", ip="10.0.2.1/24"), "h3")
    nodes = (Host("h1"), Host("h2"), Host("h3"))
    return resolve(Topology(nodes=nodes, links=tuple(link(*pair) for pair in ends)))


@pytest.mark.parametrize("remove", ["link", "node"])
def test_a_host_has_the_addresses_of_the_first_link_that_is_left(remove: str) -> None:
    before = two_links()
    if remove == "link":
        after = topology_diff.without_link(before, "h1-eth0")
    else:
        after = topology_diff.without_node(before, "h2")
    (port,) = after.ports("h1")
    host = after.node("h1")
    assert isinstance(host, Host)
    assert (host.ip, host.mac) == (port.ip, port.mac) == ("10.0.2.1/24", before.ports("h1")[1].mac)
    grown = topology_diff.with_elements(after, [Host("h9"), link("h9", "h1")])
    assert topology_diff.added_operations(plan_of(after), plan_of(grown)) != []
    assert grown.ports("h1")[0] == port


@pytest.mark.parametrize("keeps", [True, False])
def test_a_host_without_links_keeps_its_addresses_on_request(keeps: bool) -> None:
    before = resolve(Topology(nodes=(Host("h1"), Host("h2")), links=(link("h1", "h2"),)))
    after = topology_diff.without_link(before, "h1-eth0", keep_addresses=keeps)
    host = before.node("h1")
    assert isinstance(host, Host)
    assert after.node("h1") == (host if keeps else replace(host, ip="", mac=None))
