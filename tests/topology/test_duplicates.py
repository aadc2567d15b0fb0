"""Duplicates of unique values give a warning, but the network is built."""

from collections.abc import Sequence

from wanlab.plan import plan
from wanlab.topology import (
    Controller,
    Host,
    Link,
    Node,
    Port,
    Router,
    Switch,
    Topology,
    check,
    duplicate_warnings,
    link,
    resolve,
)


def warnings_of(nodes: Sequence[Node], links: Sequence[Link] = ()) -> list[str]:
    topology = Topology(nodes=tuple(nodes), links=tuple(links))
    assert check(topology) == []
    return list(duplicate_warnings(resolve(topology)))


def test_an_address_in_two_segments_is_a_warning() -> None:
    nodes = (Host("h1", ip="10.0.0.1/24"), Host("h2", ip="10.0.0.1/24"), Router("r1"))
    assert warnings_of(nodes, [link("h1", "r1"), link("h2", "r1")]) == [
        "host h1 and host h2 have the address 10.0.0.1, in separate segments"
    ]


def test_an_address_twice_behind_switches_is_in_one_segment() -> None:
    nodes = (Host("h1", ip="10.0.0.2/8"), Host("h2"), Switch("s1"), Switch("s2"))
    links = [link("h1", "s1"), link("s1", "s2"), link("h2", "s2")]
    assert warnings_of(nodes, links) == [
        "host h1 and host h2 have the address 10.0.0.2, in one segment"
    ]


def test_equal_mac_addresses_are_a_warning() -> None:
    nodes = (Host("h1"), Router("r1"))
    links = [link("h1", Port("r1", ip="10.0.0.1/24", mac="00:00:00:00:00:01"))]
    assert warnings_of(nodes, links) == [
        "host h1 and router r1 have the address 10.0.0.1, in one segment",
        "host h1 and router r1 have the MAC address 00:00:00:00:00:01, in one segment",
    ]


def test_a_mac_address_of_zeros_counts_as_none() -> None:
    zeros = "00:00:00:00:00:00"
    nodes = (Host("h1", mac=zeros), Host("h2", mac=zeros))
    topology = Topology(nodes=nodes, links=(link("h1", "h2"),))
    assert list(duplicate_warnings(resolve(topology))) == []
    assert [port.mac for port in resolve(topology).links[0].ports] == [
        "00:00:00:00:00:01",
        "00:00:00:00:00:02",
    ]


def test_a_host_numbered_0_has_a_mac_address() -> None:
    nodes = (Host("d1", number=0, ip="10.0.0.9/8"), Host("h1"))
    topology = resolve(Topology(nodes=nodes, links=(link("d1", "h1"),)))
    assert topology.links[0].a.mac == "02:00:00:00:00:00"


def test_open_vswitches_with_one_datapath_id_are_a_warning() -> None:
    assert warnings_of([Switch("core1", kind="ovs"), Switch("agg1", kind="ovs")]) == [
        "switch core1 and switch agg1 have the datapath ID 1; a controller cannot tell them apart"
    ]


def test_the_first_of_the_controllers_at_one_port_serves_all_switches() -> None:
    nodes = (
        Controller("c0"),
        Controller("c1"),
        Controller("c2", kind="remote"),
        Switch("s1", kind="ovs", controllers=("c0", "c1")),
        Switch("s2", kind="ovs", controllers=("c1",)),
    )
    assert warnings_of(nodes) == [
        "controller c0 and controller c1 have the port 127.0.0.1:6633; the first of them serves the "
        "switches of all (give each controller its own port to start them all)"
    ]
    operations = [step.describe() for step in plan(resolve(Topology(nodes=nodes)))]
    assert operations.count("controller c0") == 1
    assert "controller c1" not in operations
    assert "switches connected to controller c0: 2" in operations
