"""Test steps on the canvas, which change a topology."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Host, Topology, load
from wanlab.errors import WanlabError
from wanlab.labs.canvas import Canvas, change_topology
from wanlab.shared_folder import SharedFolder
from wanlab.topology.cpu import read_processor

DRAWN = {"hosts": ["h1", "h2"], "switches": ["s1"], "links": [["h1", "s1"], ["h2", "s1"]]}


def ip_of(topology: Topology, name: str) -> str | None:
    node = topology.node(name)
    assert isinstance(node, Host)
    return node.ip


def test_nodes_are_drawn_in_rows_with_their_links() -> None:
    topology = change_topology(Topology(), "draw", DRAWN)
    assert [(n.name, n.number, n.x, n.y) for n in topology.nodes] == [
        ("h1", 1, 140, 260),
        ("h2", 2, 310, 260),
        ("s1", 1, 225, 120),
    ]
    assert [(link.a.node, link.b.node) for link in topology.links] == [("h1", "s1"), ("h2", "s1")]


def test_nodes_that_are_already_drawn_do_not_change() -> None:
    topology = change_topology(Topology(), "draw", DRAWN)
    assert change_topology(topology, "draw", DRAWN) == topology
    more = change_topology(topology, "draw", {"hosts": ["h3"], "links": [["h3", "s1"]]})
    assert [node.name for node in more.nodes] == ["h1", "h2", "s1", "h3"]


def test_an_empty_address_restores_the_automatic_one() -> None:
    topology = change_topology(Topology(), "draw", DRAWN)
    topology = change_topology(topology, "properties", {"h1": {"ip": "10.0.0.9/8"}})
    assert ip_of(topology, "h1") == "10.0.0.9/8"
    assert ip_of(change_topology(topology, "properties", {"h1": {"ip": ""}}), "h1") is None


def test_a_host_gets_a_processor_and_keeps_its_address() -> None:
    topology = change_topology(Topology(), "draw", DRAWN)
    topology = change_topology(topology, "properties", {"h1": {"ip": "10.0.0.9/8"}})
    topology = change_topology(topology, "properties", {"h1": {"cpu": "server-2019"}})
    (h1,) = (node for node in topology.nodes if node.name == "h1")
    assert isinstance(h1, Host)
    assert (h1.ip, h1.cpu) == ("10.0.0.9/8", read_processor("server-2019"))


def test_preferences_of_miniedit_are_kept() -> None:
    topology = change_topology(Topology(), "preferences", {"ip_base": "15.0.0.0/8"})
    topology = change_topology(topology, "preferences", {"start_cli": True})
    assert (topology.ip_base, topology.extra) == ("15.0.0.0/8", {"application": {"startCLI": "1"}})


@pytest.mark.parametrize(
    ("word", "argument", "message"),
    [
        ("paint", {}, "unknown action paint"),
        ("draw", {"host": ["h1"]}, r"unknown field host \(did you mean hosts"),
        ("properties", {"h1": {"colour": "red"}}, "unknown field colour"),
        ("properties", {"h9": {"ip": ""}}, "h9"),
        ("properties", {"s1": {"ip": "10.0.0.1/8"}}, "s1 is not a host"),
        ("properties", {"h1": {"cpu": "abacus"}}, "abacus"),
        ("preferences", "now", "preferences needs fields"),
    ],
)
def test_a_mistake_is_an_error_with_its_name(word: str, argument: object, message: str) -> None:
    with pytest.raises(WanlabError, match=message):
        change_topology(change_topology(Topology(), "draw", DRAWN), word, argument)


def test_a_saved_drawing_is_the_drawn_topology(tmp_path: Path) -> None:
    canvas = Canvas(tmp_path / "none.mn")
    for word, argument in (("new", True), ("draw", DRAWN), ("save", "a.mn")):
        canvas.perform(word, argument, SharedFolder(tmp_path / "folder"))
    saved = load(tmp_path / "folder" / "a.mn")
    assert [node.name for node in saved.nodes] == ["h1", "h2", "s1"]
