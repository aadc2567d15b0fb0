"""Shapes have Mininet's names, links and port numbers."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import WanlabError
from wanlab.topology import Node, Queue, Topology, check, resolve, shapes


def drawn(topology: Topology) -> list[str]:
    return [f"{one.a}-{one.b}" for one in resolve(topology).links]


def names(nodes: Iterable[Node]) -> str:
    return " ".join(node.name for node in nodes)


def test_minimal_is_two_hosts_on_a_switch() -> None:
    topology = shapes.minimal()
    assert names(topology.nodes) == "h1 h2 s1"
    assert drawn(topology) == ["h1-eth0-s1-eth1", "h2-eth0-s1-eth2"]


def test_reversed_numbers_the_ports_of_the_switch_downwards() -> None:
    assert drawn(shapes.reversed(3)) == ["h1-eth0-s1-eth3", "h2-eth0-s1-eth2", "h3-eth0-s1-eth1"]


def test_linear_links_each_switch_to_the_one_before() -> None:
    assert drawn(shapes.linear(3)) == [
        "h1-eth0-s1-eth1",
        "h2-eth0-s2-eth1",
        "s2-eth2-s1-eth2",
        "h3-eth0-s3-eth1",
        "s3-eth2-s2-eth3",
    ]


def test_linear_names_hosts_by_their_switch_if_there_are_several() -> None:
    hosts = resolve(shapes.linear(2, 2)).hosts
    assert [(host.name, host.ip) for host in hosts] == [
        ("h1s1", "10.0.0.1/8"),
        ("h1s2", "10.0.0.2/8"),
        ("h2s1", "10.0.0.3/8"),
        ("h2s2", "10.0.0.4/8"),
    ]


def test_hosts_are_in_natural_order() -> None:
    assert names(shapes.linear(11).hosts) == "h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 h11"


def test_tree_is_numbered_depth_first() -> None:
    topology = shapes.tree(2, 2)
    assert names(topology.nodes) == "h1 h2 h3 h4 s1 s2 s3"
    assert drawn(topology) == [
        "s2-eth1-h1-eth0",
        "s2-eth2-h2-eth0",
        "s1-eth1-s2-eth3",
        "s3-eth1-h3-eth0",
        "s3-eth2-h4-eth0",
        "s1-eth2-s3-eth3",
    ]


def test_torus_has_a_loop_in_both_directions_and_stp_against_it() -> None:
    topology = shapes.torus(3, 4)
    assert len(topology.switches) == len(topology.hosts) == 12
    assert len(topology.links) == 12 + 24
    first, *_, last = topology.switches
    assert (first.name, first.dpid, first.stp) == ("s1x1", "101", True)
    assert (last.name, last.dpid) == ("s3x4", "304")
    assert names(shapes.torus(3, 3, 2).hosts).startswith("h1x1x1 h1x1x2 h1x2x1")


def test_the_conditions_of_a_dumbbell_apply_to_its_bottleneck() -> None:
    topology = shapes.dumbbell(2, rate="10Mbps", queue="red", access={"delay": "1ms"})
    assert drawn(topology) == [
        "h1-eth0-s1-eth1",
        "h2-eth0-s1-eth2",
        "s1-eth3-s2-eth1",
        "s2-eth2-h3-eth0",
        "s2-eth3-h4-eth0",
    ]
    assert [one.a.conditions.rate_bps for one in topology.links] == [None, None, 10**7, None, None]
    assert [one.a.conditions.delay_ns for one in topology.links] == [10**6, 10**6, 0, 10**6, 10**6]
    assert topology.links[2].b.conditions.queue == Queue("red")


def test_a_parking_lot_has_one_bottleneck_per_hop() -> None:
    topology = shapes.parking_lot(2, rate="1Mbps")
    assert names(topology.hosts) == "h1 h2 h3 h4 h5 h6"
    limited = [str(one) for one in topology.links if one.a.conditions.rate_bps]
    assert limited == ["link s1-s2", "link s2-s3"]
    assert [str(one) for one in topology.links[4:]] == [
        "link h3-s1",
        "link s2-h4",
        "link h5-s2",
        "link s3-h6",
    ]


@pytest.mark.parametrize(
    ("text", "topology"),
    [
        ("minimal", shapes.minimal()),
        ("single,4", shapes.single(4)),
        ("linear,k=3,n=2", shapes.linear(3, 2)),
        ("tree,depth=2,fanout=3", shapes.tree(2, 3)),
        ("tree, 2, 3", shapes.tree(2, 3)),
        ("torus,3,3", shapes.torus(3, 3)),
        ("single,k=\x1d3", shapes.single(3)),
        ("single,3,rate=1Mbps,queue=fq", shapes.single(3, rate="1Mbps", queue="fq")),
    ],
)
def test_shapes_are_specified_as_in_mininet(text: str, topology: Topology) -> None:
    assert shapes.from_text(text) == topology
    assert check(topology) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("singel,4", 'unknown shape "singel" (did you mean single?)'),
        ("tree,depth=x", '"x" in "tree,depth=x" is not a whole number (as in depth=3)'),
        ("single,-1", '"-1" in "single,-1" is not a whole number (as in k=3)'),
        ("single,k=\x1d3x", '"\x1d3x" in "single,k=\x1d3x" is not a whole number (as in k=3)'),
        ("single,²", '"²" in "single,²" is not a whole number (as in k=3)'),
        ("single,99999999", '"99999999" in "single,99999999" is too large (as in k=3)'),
        ("torus", '"torus" lacks x and y (as in torus,3,3)'),
        ("torus,2,3", "x is 2 (it must be at least 3)"),
        ("single,0", "k is 0 (it must be at least 1)"),
        ("single,4,5", '"5" in "single,4,5" is one value too many (single takes k)'),
        ("single,4,k=5", '"k=5" in "single,4,k=5" is one value too many (single takes k)'),
        (
            "linear,kk=3",
            '"kk" in "linear,kk=3" is not a parameter of the shape linear (did you mean k?)',
        ),
    ],
)
def test_an_impossible_shape_is_refused(text: str, error: str) -> None:
    with pytest.raises(WanlabError) as caught:
        shapes.from_text(text)
    assert str(caught.value) == error


@given(st.sampled_from(sorted(shapes.SHAPES)), st.integers(3, 5), st.integers(1, 3))
def test_every_shape_is_valid(name: str, first: int, second: int) -> None:
    sizes = {"minimal": [], "linear": [first, second], "torus": [first, 3, second]}
    sizes |= {"tree": [second, 2], "ring": [first, second], "fat_tree": [2 * second]}
    topology = shapes.SHAPES[name](*sizes.get(name, [first]), rate="1Mbps", delay="1ms")
    assert check(topology) == []


def degrees(topology: Topology) -> dict[str, int]:
    found: dict[str, int] = {}
    for it in topology.links:
        for port in it.ports:
            found[port.node] = found.get(port.node, 0) + 1
    return found


def test_a_ring_is_closed_and_its_switches_use_stp() -> None:
    ring = shapes.ring(5, 2)
    assert (len(ring.switches), len(ring.hosts), len(ring.links)) == (5, 10, 15)
    assert {degrees(ring)[it.name] for it in ring.switches} == {4}
    assert all(it.stp for it in ring.switches)


def test_a_fat_tree_of_four_pods_has_sixteen_hosts() -> None:
    topology = shapes.from_text("fat_tree,4")
    assert (len(topology.switches), len(topology.hosts), len(topology.links)) == (20, 16, 48)
    assert {degrees(topology)[it.name] for it in topology.switches} == {4}
    with pytest.raises(WanlabError, match="it must be even"):
        shapes.fat_tree(3)


def test_a_waxman_network_is_connected_and_depends_on_its_seed() -> None:
    one, other = shapes.waxman(40, 1), shapes.waxman(40, 2)
    assert one == shapes.waxman(40, 1)
    assert one.links != other.links
    reached = {"s1"}
    for _ in one.switches:
        for it in one.links:
            a, b = (port.node for port in it.ports)
            if reached & {a, b}:
                reached |= {a, b}
    assert reached == {node.name for node in one.nodes}


@pytest.mark.parametrize(
    "text",
    [
        "tree,30,2",
        "tree,999999,1",
        "tree,2,999999",
        "single,999999",
        "reversed,999999",
        "linear,1000,1000",
        "torus,3,100000",
        "dumbbell,999999",
        "parking_lot,999999",
    ],
)
def test_a_shape_that_is_too_large_is_refused_before_it_is_computed(text: str) -> None:
    with pytest.raises(WanlabError, match="has more than 50000 nodes"):
        shapes.from_text(text)


def test_a_tree_may_be_deeper_than_python_recurses() -> None:
    topology = shapes.tree(1500, 1)
    assert (len(topology.switches), len(topology.hosts), len(topology.links)) == (1500, 1, 1500)
