"""Topologies are plain frozen data."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

from wanlab.errors import TopologyError
from wanlab.topology import Controller, Host, Port, Router, Source, Switch, Topology, link

TOPOLOGY = Topology(
    nodes=(Host("h1"), Switch("s1"), Router("r1"), Controller("c0"), Host("h2")),
    links=(link(Port("h1", number=3), "s1"), link("s1", "h2"), link("h1", "r1")),
)


def test_nodes_are_found_by_name_and_by_kind() -> None:
    assert TOPOLOGY.node("r1") == Router("r1")
    assert TOPOLOGY.hosts == (Host("h1"), Host("h2"))
    assert TOPOLOGY.switches == (Switch("s1"),)
    assert TOPOLOGY.routers == (Router("r1"),)
    assert TOPOLOGY.controllers == (Controller("c0"),)


def test_the_error_for_an_unknown_name_suggests_the_nearest_one() -> None:
    with pytest.raises(TopologyError) as caught:
        TOPOLOGY.node("h11")
    assert str(caught.value) == 'there is no node "h11" (did you mean h1?)'


def test_numbered_ports_come_before_the_others() -> None:
    assert TOPOLOGY.ports("h1") == (Port("h1", number=3), Port("h1"))
    assert TOPOLOGY.ports("s1") == (Port("s1"), Port("s1"))
    assert TOPOLOGY.ports("c0") == ()


def test_a_topology_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        TOPOLOGY.nodes[0].name = "h9"  # type: ignore[misc]


def test_equal_topologies_are_equal_wherever_they_were_read() -> None:
    elsewhere = Topology(
        nodes=TOPOLOGY.nodes, links=TOPOLOGY.links, source=Source(file="a.mn", places={"a": "b"})
    )
    assert elsewhere == TOPOLOGY
    assert hash(elsewhere) == hash(TOPOLOGY)
    assert pickle.loads(pickle.dumps(elsewhere)) == TOPOLOGY


def test_nodes_links_and_topologies_have_readable_names() -> None:
    assert [str(node) for node in TOPOLOGY.nodes[:2]] == ["host h1", "switch s1"]
    assert str(TOPOLOGY.links[0]) == "link h1-s1"


def test_a_problem_without_a_line_is_reported_at_its_parent() -> None:
    source = Source(places={"nodes[0]": "hosts[0]", "nodes[0].ip": "hosts[0].opts.ip"})
    assert source.place("nodes[0].ip") == "hosts[0].opts.ip"
    assert source.place("nodes[0].mac") == "hosts[0]"
    assert source.place("links[0].rate") == ""
