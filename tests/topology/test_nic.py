"""Test NICs: their words, and impossible settings."""

from dataclasses import replace

import pytest

from wanlab import Port, Topology, link, shapes
from wanlab.errors import WanlabError
from wanlab.topology import Nic, check
from wanlab.topology.files import yaml
from wanlab.topology.nic import nic_words, read_nic

WORDS = {"tso": "off", "gro": "on", "coalescing": "50us", "queues": "4"}
NIC = Nic(tso=False, gro=True, coalescing_ns=50_000, queues=4)


def test_nics_are_read_and_written_as_words() -> None:
    assert read_nic(WORDS) == NIC
    assert nic_words(NIC) == WORDS
    assert read_nic({"tso": True, "gro": "false"}) == Nic(tso=True, gro=False)
    assert (read_nic({}), nic_words(Nic())) == (Nic(), {})


def test_a_nic_overrides_another_where_it_is_set() -> None:
    assert Nic(gro=False).over(NIC) == Nic(tso=False, gro=False, coalescing_ns=50_000, queues=4)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"tos": "off"}, 'unknown NIC field "tos" (did you mean tso?)'),
        ({"tso": "fast"}, "tso must be on or off, not 'fast'"),
        ({"gro": 1}, "gro must be on or off, not 1"),
        (
            {"coalescing": "2s"},
            "the time between interrupts cannot be 2s (0 (no coalescing) to 1s)",
        ),
        ({"coalescing": 50}, "the time between interrupts is a whole number of us, not 50 ns"),
        ({"queues": 65}, "a NIC cannot have 65 queues (1 to 64)"),
        ({"queues": 0}, "a NIC cannot have 0 queues"),
        ({"queues": "many"}, "queues must be a whole number, not 'many'"),
        ({"queues": True}, "queues must be a whole number, not True"),
        ("off", "'off' does not describe a NIC"),
    ],
)
def test_an_impossible_nic_is_an_error(words: object, error: str) -> None:
    with pytest.raises(WanlabError) as raised:
        read_nic(words)
    assert str(raised.value).startswith(error)


def with_nic(node: str) -> Topology:
    """Return a host and a switch, with a NIC at one of the two ports."""
    topology = shapes.single(1)
    (wire,) = topology.links
    a, b = (replace(port, nic=NIC) if port.node == node else port for port in wire.ports)
    return replace(topology, links=(replace(wire, a=a, b=b),))


def test_a_file_keeps_the_nics() -> None:
    topology = with_nic("h1")
    text = yaml.dump(topology)
    assert "nic: {tso: 'off', gro: 'on', coalescing: 50us, queues: '4'}" in text
    assert yaml.load(text) == topology
    assert yaml.load(text.replace("'", "")) == topology


def test_a_port_of_a_switch_has_no_nic() -> None:
    problems = [str(problem) for problem in check(with_nic("s1"))]
    assert problems == [
        "link h1-s1: a port of switch s1 has no NIC (give one to the other end of the link)"
    ]


def test_an_invalid_nic_is_reported_with_all_other_problems() -> None:
    topology = Topology(
        nodes=shapes.single(2).nodes,
        links=(link(Port("h1", nic=Nic(coalescing_ns=-1)), Port("h2", mtu=1)),),
    )
    assert len(check(topology)) == 2
