"""Cards: words for them, and what no card can do."""

from dataclasses import replace

import pytest

from wanlab import Port, Topology, link, shapes
from wanlab.errors import WanlabError
from wanlab.topology import Nic, check
from wanlab.topology.files import yaml
from wanlab.topology.nic import nic_words, read_nic

WORDS = {"tso": "off", "gro": "on", "moderation": "50us"}
CARD = Nic(tso=False, gro=True, moderation_ns=50_000)


def test_words_are_read_and_written() -> None:
    assert read_nic(WORDS) == CARD
    assert nic_words(CARD) == WORDS
    assert read_nic({"tso": True, "gro": "false"}) == Nic(tso=True, gro=False)
    assert (read_nic({}), nic_words(Nic())) == (Nic(), {})


def test_a_card_counts_over_another_where_it_says_something() -> None:
    assert Nic(gro=False).over(CARD) == Nic(tso=False, gro=False, moderation_ns=50_000)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"tos": "off"}, '"tos" is not known of a card (did you mean tso?)'),
        ({"tso": "fast"}, "tso is on or off, not 'fast'"),
        ({"gro": 1}, "gro is on or off, not 1"),
        ({"moderation": "2s"}, "2s is no time between interrupts (0 (none) to 1s)"),
        ({"moderation": 50}, "a card counts the time between interrupts in whole us, 50 ns is not"),
        ("off", "'off' is not a card"),
    ],
)
def test_what_no_card_can_do_is_an_error(words: object, error: str) -> None:
    with pytest.raises(WanlabError) as raised:
        read_nic(words)
    assert str(raised.value).startswith(error)


def with_card(node: str) -> Topology:
    """A host and a switch, and a card at one of the two ports."""
    topology = shapes.single(1)
    (wire,) = topology.links
    a, b = (replace(port, nic=CARD) if port.node == node else port for port in wire.ports)
    return replace(topology, links=(replace(wire, a=a, b=b),))


def test_a_file_keeps_the_cards() -> None:
    topology = with_card("h1")
    text = yaml.dump(topology)
    assert "nic: {tso: 'off', gro: 'on', moderation: 50us}" in text
    assert yaml.load(text) == topology
    assert yaml.load(text.replace("'", "")) == topology


def test_a_port_of_a_switch_has_no_card() -> None:
    problems = [str(problem) for problem in check(with_card("s1"))]
    assert problems == [
        "link h1-s1: a port of switch s1 has no card (give one to the other end of the link)"
    ]


def test_a_wrong_card_is_found_with_everything_else() -> None:
    topology = Topology(
        nodes=shapes.single(2).nodes,
        links=(link(Port("h1", nic=Nic(moderation_ns=-1)), Port("h2", mtu=1)),),
    )
    assert len(check(topology)) == 2
