"""Test the automatic layout of nodes without positions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wanlab import Host, Switch, Topology, link, shapes
from wanlab.topology import Controller
from wanlab.topology.layout import STEP_X, STEP_Y, arranged, node_positions


@pytest.mark.parametrize(
    "text",
    [
        "minimal",
        "single,1",
        "single,7",
        "reversed,3",
        "linear,5",
        "linear,4,3",
        "tree,1,3",
        "tree,3,2",
        "tree,2,5",
        "torus,3,3",
        "torus,3,4,2",
        "dumbbell,pairs=1",
        "dumbbell,pairs=6",
        "parking_lot,3",
    ],
)
def test_no_two_nodes_have_the_same_position(text: str) -> None:
    topology = shapes.from_text(text)
    positions = node_positions(topology)
    assert set(positions) == {node.name for node in topology.nodes}
    assert len(set(positions.values())) == len(positions)
    assert min(x for x, _ in positions.values()) == min(y for _, y in positions.values()) == 0


def test_a_dumbbell_has_its_usual_layout() -> None:
    assert node_positions(shapes.dumbbell(2)) == {
        **{"h1": (0, 0), "h2": (0, STEP_Y)},
        **{"s1": (STEP_X, STEP_Y / 2), "s2": (2 * STEP_X, STEP_Y / 2)},
        **{"h3": (3 * STEP_X, 0), "h4": (3 * STEP_X, STEP_Y)},
    }


def test_a_tree_grows_downwards_from_its_root() -> None:
    positions = node_positions(shapes.tree(2, 3))
    rows = {
        y: sorted(name for name in positions if positions[name][1] == y)
        for _, y in positions.values()
    }
    assert [rows[y] for y in sorted(rows)] == [
        ["s1"],
        ["s2", "s3", "s4"],
        [f"h{n}" for n in range(1, 10)],
    ]


def test_separate_parts_and_controllers_do_not_overlap() -> None:
    topology = Topology(
        nodes=(
            Host("h1"),
            Host("h2"),
            Host("h3"),
            Switch("s1", controllers=("c0",)),
            Controller("c0"),
        ),
        links=(link("h1", "h2"), link("h3", "s1")),
    )
    positions = node_positions(topology)
    assert positions["c0"][1] < positions["h1"][1] == positions["h2"][1] < positions["h3"][1]
    assert len(set(positions.values())) == 5


def test_given_positions_are_kept() -> None:
    topology = shapes.minimal()
    chosen = replace(
        topology,
        nodes=tuple(replace(node, x=7.0 * n, y=1.0) for n, node in enumerate(topology.nodes)),
    )
    assert arranged(chosen) is chosen
    assert arranged(topology) != topology
