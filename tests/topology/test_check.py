"""All problems of a topology are reported at once, each with its place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wanlab.errors import TopologyError
from wanlab.topology import (
    Conditions,
    Controller,
    Host,
    Link,
    Node,
    Port,
    Queue,
    Router,
    Switch,
    Topology,
    check,
    ensure,
    files,
    link,
    shapes,
)
from wanlab.topology.model import NetFlow, SFlow
from wanlab.topology.schedule import read_schedule

HOSTS = (Host("h1"), Host("h2"))


def problems_of(nodes: Any = HOSTS, links: Any = (), **others: Any) -> list[str]:
    return [str(problem) for problem in check(Topology(nodes=nodes, links=links, **others))]


def problems_of_conditions(**values: Any) -> list[str]:
    it = Conditions(**values)
    return problems_of(links=[Link(Port("h1", conditions=it), Port("h2", conditions=it))])


def test_a_valid_topology_has_no_problems() -> None:
    assert check(shapes.dumbbell(3, rate="10Mbps", delay="20ms", jitter="1ms", queue="fq")) == []
    assert ensure(shapes.minimal()) == shapes.minimal()


def test_ensure_raises_all_problems() -> None:
    topology = Topology(nodes=(Host("h 1"), Host("h2", mac="x")))
    with pytest.raises(TopologyError) as caught:
        ensure(topology)
    assert caught.value.problems == tuple(check(topology))
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (
            Host(""),
            '"" cannot be a name (use letters and digits, and after the first character also . _ -)',
        ),
        (
            Host("h 1"),
            '"h 1" cannot be a name '
            "(use letters and digits, and after the first character also . _ -, for example h_1)",
        ),
        (
            Host("../h"),
            '"../h" cannot be a name '
            "(use letters and digits, and after the first character also . _ -, for example h)",
        ),
        (
            Host("a-very-long-name"),
            'the name "a-very-long-name" is 16 characters long (Linux allows 15 characters)',
        ),
        (Host("h1", number=-1), "-1 is not a number for a node (it must be from 0 to 16777215)"),
        (Host("h1", ip="10.0.0.300"), '"10.0.0.300" is not an IP address (as in "10.0.0.1/8")'),
        (
            Host("h1", ip="10.0.0.0/8"),
            "10.0.0.0/8 is the network address (as in 10.0.0.1)",
        ),
        (
            Host("h1", ip="10.255.255.255/8"),
            "10.255.255.255/8 is the broadcast address of its network (as in 10.255.255.254)",
        ),
        (
            Host("h1", ip="127.0.0.1/8"),
            '127.0.0.1/8 is a loopback address (as in "10.0.0.1/8")',
        ),
        (
            Host("h1", ip="224.0.0.1/24"),
            '224.0.0.1/24 is a multicast address (as in "10.0.0.1/8")',
        ),
        (
            Host("h1", mac="00:00:00:00:00:00"),
            "the MAC address 00:00:00:00:00:00 is all zeros (leave it out to get one automatically)",
        ),
        (Switch("lo"), 'the name "lo" is reserved by Linux (choose another name)'),
        (Host("h1", mac="00:11"), '"00:11" is not a MAC address (as in "00:00:00:00:00:01")'),
        (
            Host("h1", default_route="there"),
            '"default via there" is not a route (as in "10.0.2.0/24 via 10.0.1.2")',
        ),
        (
            Host("h1", vlan_interfaces=(("10.1.0.1/24", 5),)),
            "a VLAN interface needs a port, and this host has none (add a link)",
        ),
        (
            Host("h1", external_interfaces=("eth 0",)),
            '"eth 0" cannot be a name '
            "(use letters and digits, and after the first character also . _ -, for example eth_0)",
        ),
        (
            Host("h1", private_directories=(("/", None),)),
            "the root folder cannot be private (name folders in it)",
        ),
        (
            Host("h1", private_directories=(("/var/run", "run"),)),
            '"run" is not an absolute path (as in "/home/me/log")',
        ),
        (Host("h1", cores="some"), '"some" does not name cores (as in "0,2" or "0-3")'),
        (
            Host("h1", private_directories=(("run", None),)),
            '"run" is not an absolute path (as in "/var/run")',
        ),
        (Host("h1", cpu=2.0), "a CPU share cannot be 2.0 (it must be more than 0, at most 1)"),
        (
            Host("h1", scheduler="cf"),
            'unknown scheduler "cf" (did you mean cfs?)',
        ),
        (Switch("s1", kind="brige"), 'unknown kind "brige" (did you mean bridge?)'),
        (
            Switch("s1", dpid="xyz"),
            '"xyz" is not a datapath ID (1 to 16 hexadecimal digits)',
        ),
        (
            Switch("s1", kind="ovs", controllers=("c0",)),
            'there is no controller "c0" (there are none)',
        ),
        (
            Switch("s1", protocols=("OpenFlow13",)),
            'a bridge does not support protocols (use kind "ovs", Open vSwitch)',
        ),
        (
            Switch("s1", datapath="user"),
            'a bridge forwards in the kernel (use kind "ovs", Open vSwitch)',
        ),
        (
            Switch("s1", kind="ovs", protocols=("OpenFlow3",)),
            'unknown protocols "OpenFlow3" (did you mean OpenFlow13?)',
        ),
        (
            Switch("s1", kind="ovs", fail_mode="open"),
            'unknown fail_mode "open" (choose from: secure, standalone)',
        ),
        (
            Switch("s1", kind="ovs", vlan_filtering=True),
            "an Open vSwitch always separates VLANs (leave it out)",
        ),
        (
            Switch("s1", kind="ovs", listen_port=0),
            "0 is not a port number (it must be from 1 to 65535)",
        ),
        (
            Switch("s1", kind="ovs", netflow=NetFlow("10.0.0.1")),
            '"10.0.0.1" is not an address and a port (as in "127.0.0.1:9996")',
        ),
        (
            Switch("s1", kind="ovs", sflow=SFlow("10.0.0.1:6343", polling_s=0)),
            "polling_s cannot be 0 (it must be at least 1)",
        ),
        (
            Switch("s1", priority=100),
            "a priority has no effect without stp (set both, or neither)",
        ),
        (
            Switch("s1", stp=True, priority=70000),
            "70000 is not a priority (it must be from 0 to 65535)",
        ),
        (
            Router("r1", frr="r1.conf"),
            '"r1.conf" is not the text of a frr.conf (for a file, write: frr_file: r1.conf)',
        ),
        (Router("r1", frr=" "), "the FRRouting configuration is empty (leave it out)"),
        (
            Controller("c0", protocol="ssl"),
            "the learning controller does not support ssl (use tcp)",
        ),
        (
            Router("r1", routes=("10.0.2.0/24",)),
            '"10.0.2.0/24" is not a route (as in "10.0.2.0/24 via 10.0.1.2")',
        ),
        (Controller("c0", port=0), "0 is not a port number (it must be from 1 to 65535)"),
        (Controller("c0", address="here"), '"here" is not an IP address (as in "127.0.0.1")'),
    ],
)
def test_an_invalid_node_is_a_problem(node: Node, problem: str) -> None:
    assert problems_of([node]) == [f"{node}: {problem}"]


@pytest.mark.parametrize(
    "route", ["10.0.0.9", "via 10.0.0.9", "dev h1-eth0", "via 10.0.0.9 dev h1-eth0"]
)
def test_default_routes_may_be_written_as_mininet_takes_them(route: str) -> None:
    assert problems_of([Host("h1", default_route=route)]) == []


def test_a_bridge_takes_1023_ports() -> None:
    ports = tuple(f"eth{number}" for number in range(1022))
    topology = Topology(
        nodes=(Host("h1"), Host("h2"), Switch("s1", external_interfaces=ports)),
        links=(link("h1", "s1"),),
    )
    assert check(topology) == []
    (problem,) = check(replace(topology, links=(*topology.links, link("h2", "s1"))))
    assert problem.what == "the switch has 1024 ports, but a Linux bridge has 1023"


def test_two_nodes_with_the_same_name_are_a_problem() -> None:
    assert problems_of([Host("h1"), Switch("h1")]) == [
        'switch h1: the name "h1" is taken by another node, host h1 (give each node its own name)'
    ]


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        (
            Host("h1", vlan_interfaces=(("10.1.0.1/24", 5000),)),
            "5000 is not a VLAN number (it must be from 1 to 4094)",
        ),
        (
            Host("h1", vlan_interfaces=(("10.1.0.1/24", 7), ("10.2.0.1/24", 7))),
            "VLAN 7 has two interfaces (keep one)",
        ),
        (
            Host("office-pc", vlan_interfaces=(("10.1.0.1/24", 7),)),
            'the interface of VLAN 7 would be called "office-pc-eth0.7", 16 characters '
            "(Linux allows 15: give the host a shorter name)",
        ),
    ],
)
def test_an_invalid_vlan_interface_is_a_problem(host: Host, problem: str) -> None:
    found = problems_of([host, Host("h2")], [link(host.name, "h2")])
    assert found == [f"{host}: {problem}"]


@pytest.mark.parametrize(
    ("port", "problem"),
    [
        (Port("s1", vlan=0), "0 is not a VLAN number (it must be from 1 to 4094)"),
        (Port("s1", trunks=(3, 4095)), "4095 is not a VLAN number (it must be from 1 to 4094)"),
        (Port("s1", vlan=3, trunks=(3, 4)), "VLAN 3 is given twice to one port (give it once)"),
    ],
)
def test_an_invalid_vlan_of_a_port_is_a_problem(port: Port, problem: str) -> None:
    assert problems_of([Host("h1"), Switch("s1")], [link("h1", port)]) == [f"link h1-s1: {problem}"]


def test_only_switches_have_ports_in_vlans() -> None:
    assert problems_of(links=[link(Port("h1", vlan=3), "h2")]) == [
        "link h1-h2: a port of host h1 is given a VLAN "
        "(only a switch's port has VLANs; a host takes vlan_interfaces)"
    ]


def test_a_link_to_an_unknown_node_suggests_the_nearest_one() -> None:
    assert problems_of(links=[link("h1", "h22")]) == [
        'link h1-h22: there is no node "h22" (did you mean h2?)'
    ]


def test_a_link_to_itself_is_a_problem() -> None:
    assert problems_of(links=[link("h1", "h1")]) == [
        'link h1-h1: the link leads from "h1" to itself (links join two nodes)'
    ]


def test_a_controller_carries_no_traffic() -> None:
    assert problems_of((Host("h1"), Controller("c0")), [link("h1", "c0")]) == [
        (
            'link h1-c0: "c0" is a controller, and carries no traffic '
            "(name it among the controllers of a switch instead)"
        )
    ]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"rate_bps": -1}, 'the rate -1 bit/s is negative (as in "10Mbps")'),
        ({"rate_bps": 0}, "a rate of 0 lets nothing through (leave it out, or set a loss of 100%)"),
        ({"rate_bps": 10**14}, "a rate of 100Tbps is too high (at most 10Tbps)"),
        ({"rate_bps": 80}, "a rate of 80bps is too low for packets of 1500 bytes (at least 89bps)"),
        ({"delay_ns": -5}, 'the delay -5 ns is negative (as in "20ms")'),
        ({"delay_ns": 10**13}, "a delay of 10000s is too long (at most 3600s)"),
        ({"jitter_ns": 5}, "jitter has no effect without delay (give both, or neither)"),
        ({"loss_fraction": 1.5}, "the loss 1.5 is not a fraction (from 0 to 1)"),
        ({"loss_fraction": float("nan")}, "the loss nan is not a fraction (from 0 to 1)"),
        ({"reorder_fraction": 0.1}, "reorder has no effect without delay (give both, or neither)"),
        ({"reorder_gap": 5}, "reorder_gap has no effect without reorder (give both, or neither)"),
        (
            {"delay_ns": 9, "reorder_fraction": 0.1, "reorder_gap": -1},
            "the reorder_gap -1 is out of range (from 0 to 1000000000)",
        ),
        (
            {"delay_ns": 9, "jitter_ns": 5, "distribution": "norml"},
            'unknown distribution "norml" (did you mean normal?)',
        ),
        (
            {"queue": Queue("fq_codel")},
            "a queue has no effect on a link without a rate (add a rate, or leave the queue out)",
        ),
        (
            {"rate_bps": 9000, "queue": Queue("fq_codell")},
            'unknown queue "fq_codell" (did you mean fq_codel?)',
        ),
        (
            {"rate_bps": 9000, "queue": Queue(limit_bytes=-1)},
            "a queue of -1 bytes holds nothing (let it hold at least one)",
        ),
        (
            {"rate_bps": 9000, "queue": Queue(limit_bytes=1513)},
            "a queue of 1513 bytes drops every packet that is larger "
            "(at least 1514 bytes, a packet with its header)",
        ),
        (
            {"rate_bps": 9000, "queue": Queue("red", limit_bytes=100)},
            "a queue of 100 bytes drops every packet that is larger "
            "(at least 1514 bytes, a packet with its header)",
        ),
        (
            {"rate_bps": 9000, "queue": Queue(limit_packets=0)},
            "a queue of 0 packets holds nothing (let it hold at least one)",
        ),
        (
            {"rate_bps": 9000, "queue": Queue(limit_packets=99999999999)},
            "a queue of 99999999999 packets is too long (at most 2836834 packets)",
        ),
        (
            {"rate_bps": 9000, "queue": Queue("codel", options=(("target", "-5ms"),))},
            'the option "target -5ms" is negative (as in ("target", "5ms"))',
        ),
        (
            {"rate_bps": 9000, "queue": Queue("red", options=(("ecn", ""), ("ecn", "")))},
            'the option "ecn" is given twice (give it once)',
        ),
        (
            {"rate_bps": 9000, "queue": Queue("red", options=(("min max", "3"),))},
            '"min max 3" is not an option (as in ("target", "5ms"))',
        ),
    ],
)
def test_invalid_conditions_are_reported_once_for_both_directions(
    values: dict[str, Any], problem: str
) -> None:
    assert problems_of_conditions(**values) == [f"link h1-h2: {problem}"]


def test_a_queue_has_an_effect_where_the_wire_has_a_speed_or_netem_a_limit() -> None:
    queue = Conditions(queue=Queue("fq"))
    assert (
        problems_of(links=[Link(Port("h1", speed_bps=10**9, conditions=queue), Port("h2"))]) == []
    )
    assert problems_of_conditions(delay_ns=5, queue=Queue(limit_packets=100)) == []


def test_ports_need_their_own_names_and_numbers() -> None:
    links = [
        link(Port("h1", number=1), Port("h2", name="lan")),
        link(Port("h1", number=1, name="wan"), Port("h2", name="lan")),
    ]
    assert problems_of(links=links) == [
        "link h1-h2: port 1 of h1 is taken by link h1-h2 (give each port of a node its own number)",
        (
            'link h1-h2: the port name "lan" of h2 is taken by h2 in link h1-h2 '
            "(give each port its own name)"
        ),
    ]


def test_hosts_may_share_port_names_and_switches_may_not() -> None:
    named = [link(Port("h1", name="eth0"), Port("s1", name="up"))]
    named += [link(Port("h2", name="eth0"), Port("s2", name="up"))]
    nodes = (*HOSTS, Switch("s1"), Switch("s2"))
    assert problems_of(nodes, named) == [
        (
            'link h2-s2: the port name "up" of s2 is taken by s1 in link h1-s1 '
            "(give each port its own name)"
        )
    ]


def test_a_port_name_made_from_a_long_node_name_is_checked() -> None:
    nodes = (Host("a-long-name"), Host("h2"))
    assert problems_of(nodes, [link("a-long-name", "h2")]) == [
        (
            'link a-long-name-h2: the name "a-long-name-eth0" is 16 characters long '
            "(Linux allows 15 characters)"
        )
    ]


@pytest.mark.parametrize(
    ("port", "problem"),
    [
        (Port("h2", mtu=10), "the MTU cannot be 10 (it must be from 68 to 65535)"),
        (Port("h2", speed_bps=-1), "the speed -1 bit/s is negative (0 is unlimited)"),
        (Port("h2", number=-1), "-1 is not a number for a port (it must be from 0 to 65535)"),
        (Port("h2", ip="x"), '"x" is not an IP address (as in "10.0.0.1/8")'),
        (
            Port("s1", ip="10.0.0.9/8"),
            "a port of switch s1 has the address 10.0.0.9/8 (use a router)",
        ),
    ],
)
def test_an_invalid_port_is_a_problem(port: Port, problem: str) -> None:
    nodes = (*HOSTS, Switch("s1"))
    assert problems_of(nodes, [link("h1", port)]) == [f"link h1-{port.node}: {problem}"]


def test_a_host_and_its_first_port_must_agree() -> None:
    topology = Topology(
        nodes=(Host("h1", ip="10.0.0.7/8"), Host("h2")),
        links=(link(Port("h1", ip="10.0.0.8/8"), "h2"),),
    )
    assert [str(problem) for problem in check(topology)] == [
        "host h1: the host has ip 10.0.0.7/8, but its first port has 10.0.0.8/8 (set it once)"
    ]


def test_a_network_too_small_for_its_hosts_is_a_problem() -> None:
    small = replace(shapes.single(3), ip_base="10.0.0.0/30")
    assert [str(problem) for problem in check(small)] == [
        (
            "host h3: 10.0.0.0/30 has no address for host number 3 "
            "(give the topology a larger ip_base, or the host its own ip)"
        )
    ]


def test_an_invalid_address_base_is_a_problem() -> None:
    assert problems_of(ip_base="10.0.0.0/33") == [
        'ip_base: "10.0.0.0/33" is not an IPv4 network (as in "10.0.0.0/8")'
    ]


def test_a_file_with_a_million_damaged_nodes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.mn"
    path.write_text(f'{{"version": "2", "hosts": [{"[]," * 1_000_000}[]]}}')
    with pytest.raises(TopologyError, match="1000001 items are more than 50000"):
        files.load(path)


def test_problems_inside_fields_that_cannot_be_read_are_not_reported_again(tmp_path: Path) -> None:
    path = tmp_path / "damaged.mn"
    path.write_text(f'{{"version": "2", "hosts": [{"[]," * 2_000}[]]}}')
    with pytest.raises(TopologyError) as caught:
        files.load(path)
    places = [problem.place for problem in caught.value.problems]
    assert len(places) == len(set(places))
    assert {place.partition("[")[0] for place in places} == {"hosts", "links", "switches"}


def test_a_schedule_that_many_links_share_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 links with a schedule of 10,000 changes took 14 s."""
    calls = []
    states = Conditions.states

    def count(conditions: Conditions) -> tuple[tuple[int, Conditions], ...]:
        calls.append(conditions)
        return states(conditions)

    monkeypatch.setattr(Conditions, "states", count)
    schedule = read_schedule([{"at": f"{ms}ms", "rate": "1bps"} for ms in range(1, 99)])
    names = [f"h{number}" for number in range(50)]
    links = [link(name, "a", rate="1Mbps", schedule=schedule) for name in names]
    links.append(link("b", "a", rate="2Mbps", schedule=schedule))
    nodes = tuple(map(Host, [*names, "a", "b"]))
    problems = [str(problem) for problem in check(Topology(nodes=nodes, links=tuple(links)))]
    assert len([problem for problem in problems if "1bps is too low for packets" in problem]) == 51
    scheduled = [conditions for conditions in calls if conditions.schedule is not None]
    assert len(scheduled) <= 4
