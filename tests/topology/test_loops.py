"""Test finding loops of switches in which nothing stops broadcasts."""

from __future__ import annotations

import pytest

from wanlab import shapes
from wanlab.plan import plan_script
from wanlab.topology import Host, Link, Port, Switch, Topology
from wanlab.topology.loops import loop_warnings, storm_settings, unprotected_loops


def network(links: str, **switches: Switch) -> Topology:
    """Return a topology with links such as "s1-s2 s2-s3"; names with an "h" are hosts."""
    pairs = [pair.split("-") for pair in links.split()]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    nodes = (
        Host(name) if name.startswith("h") else switches.get(name, Switch(name)) for name in names
    )
    return Topology(nodes=tuple(nodes), links=tuple(Link(Port(a), Port(b)) for a, b in pairs))


@pytest.mark.parametrize(
    ("links", "loops"),
    [
        ("h1-s1 s1-s2 s2-s3 s3-h3", []),
        ("h1-s1 s1-s2 s2-s3 s3-s1", [["s1", "s2", "s3"]]),
        ("s1-s2 s1-s2", [["s1", "s2"]]),
        ("s1-s2 s2-s3 s3-s1 s4-s1 s4-s5", [["s1", "s2", "s3"]]),
        ("s1-s2 s1-s2 s3-s4 s4-s5 s5-s3", [["s1", "s2"], ["s3", "s4", "s5"]]),
        ("h1-s1 h1-s2 s1-s2", []),
    ],
)
def test_loops_are_found(links: str, loops: list[list[str]]) -> None:
    assert unprotected_loops(network(links)) == loops


def test_one_switch_with_stp_protects_its_loop() -> None:
    loop = "s1-s2 s2-s3 s3-s1"
    assert unprotected_loops(network(loop, s2=Switch("s2", stp=True))) == []
    assert unprotected_loops(shapes.from_text("torus,3,3")) == []


def test_a_switch_in_a_loop_sends_packets_to_its_controller_at_a_limited_rate() -> None:
    secure = {f"s{n}": Switch(f"s{n}", kind="ovs", fail_mode="secure") for n in range(1, 5)}
    topology = network("s1-s2 s2-s3 s3-s1 s3-s4", **secure)
    limits = ["controller_rate_limit=100", "controller_burst_limit=1000"]
    assert unprotected_loops(topology) == []
    assert [storm_settings(name, topology) for name in secure] == [limits, limits, limits, []]


def test_a_plan_names_the_switches_that_form_a_loop() -> None:
    (warning,) = loop_warnings(network("s1-s2 s2-s3 s3-s1"))
    assert warning.startswith("the switches s1, s2, s3 form a loop and none of them speaks STP")
    assert f"# Warning: {warning}\n" in plan_script(network("h1-s1 s1-s2 s2-s3 s3-s1"))
