"""Test NICs in plans: the rules, and the settings that override them."""

from dataclasses import replace

from wanlab import Host, Port, Router, Topology, link, shapes
from wanlab.operations import (
    AddLink,
    Operation,
    SetCoalesce,
    SetOffloads,
    SetWire,
)
from wanlab.plan import Wire, plan
from wanlab.topology import Link, Nic, resolve

BY_RULE = Nic()


def nic_operations(topology: Topology, wire: Wire = "mtu", nic: Nic = BY_RULE) -> list[Operation]:
    kinds = (SetWire, SetOffloads, SetCoalesce)
    return [it for it in plan(resolve(topology), wire=wire, nic=nic) if isinstance(it, kinds)]


def test_a_host_has_a_server_nic_and_a_switch_has_none() -> None:
    assert nic_operations(shapes.single(1)) == [
        SetWire("h1", "h1-eth0"),
        SetOffloads("h1", "h1-eth0", {"tso": True, "gso": True, "gro": True}),
        SetCoalesce("h1", "h1-eth0", 250),
        SetWire("", "s1-eth1"),
        SetOffloads("", "s1-eth1", {"tso": False, "gso": False, "gro": False}),
    ]


def test_a_port_with_conditions_passes_single_packets_to_its_queues() -> None:
    offloads = [
        it for it in nic_operations(shapes.single(1, loss="1%")) if isinstance(it, SetOffloads)
    ]
    assert offloads[0] == SetOffloads("h1", "h1-eth0", {"tso": False, "gso": False, "gro": True})


def test_a_router_forwards_packet_by_packet() -> None:
    topology = Topology(
        nodes=(Host("h1"), Router("r1")), links=(link("h1", Port("r1", ip="10.0.0.9/8")),)
    )
    assert nic_operations(topology)[3:] == [
        SetWire("r1", "r1-eth0"),
        SetOffloads("r1", "r1-eth0", {"tso": False, "gso": False, "gro": False}),
    ]


def test_a_ports_settings_override_the_networks_and_those_the_defaults() -> None:
    topology = shapes.single(2)
    own = replace(topology.links[0].a, nic=Nic(gro=False))
    topology = replace(topology, links=(Link(own, topology.links[0].b), *topology.links[1:]))
    found = nic_operations(topology, nic=Nic(tso=False, coalescing_ns=0))
    assert [it for it in found if not isinstance(it, SetWire)][:4] == [
        SetOffloads("h1", "h1-eth0", {"tso": False, "gso": False, "gro": False}),
        SetCoalesce("h1", "h1-eth0", 0),
        SetOffloads("h2", "h2-eth0", {"tso": False, "gso": False, "gro": True}),
        SetCoalesce("h2", "h2-eth0", 0),
    ]


def test_only_the_end_with_the_nic_has_its_queues() -> None:
    topology = shapes.single(1)
    own = replace(topology.links[0].a, nic=Nic(queues=4))
    topology = replace(topology, links=(Link(own, topology.links[0].b),))
    (added,) = (it for it in plan(resolve(topology), wire="gso") if isinstance(it, AddLink))
    assert (added.a.queues, added.b.queues) == (4, None)
    a, _, b = added.commands()[0].partition(" peer ")
    assert "numtxqueues 4 numrxqueues 4" in a
    assert "queues" not in b


def test_on_the_gso_wire_only_requested_settings_are_changed() -> None:
    assert nic_operations(shapes.single(2), "gso") == []
    assert nic_operations(shapes.single(1), "gso", Nic(gro=True)) == [
        SetOffloads("h1", "h1-eth0", {"gro": True})
    ]
