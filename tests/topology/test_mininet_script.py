"""A topology is exported as a program for Mininet's Python API; `tc` sets what the API cannot."""

from __future__ import annotations

import re
from typing import Any

import pytest

from wanlab.topology import Conditions, Host, Port, Queue, Switch, Topology, dumps, link


def exported(**conditions: Any) -> str:
    """Return the program of two hosts at a switch, one of them at the end of a link with conditions."""
    nodes = (Host("h1"), Host("h2"), Switch("s1"))
    links = (link("h1", "s1"), link("s1", "h2", **conditions))
    return dumps(Topology(nodes=nodes, links=links), "two.py")


def tc_lines(program: str) -> set[str]:
    return set(re.findall(r"(\w+\.cmd\('tc .*'\))", program))


@pytest.mark.parametrize(
    ("conditions", "parent"),
    [
        ({"rate": "10Mbps"}, "parent 5:1"),
        ({"rate": "10Mbps", "delay": "5ms"}, "parent 10:1"),
        ({"rate": "10Mbps", "loss": "1%"}, "parent 10:1"),
    ],
)
def test_a_queue_is_set_below_the_rate_and_the_delay(
    conditions: dict[str, object], parent: str
) -> None:
    program = exported(**conditions, queue=Queue("fq_codel", options=(("target", "20ms"),)))
    words = f"{parent} handle 20: fq_codel target 20ms"
    assert tc_lines(program) == {
        f"s1.cmd('tc qdisc add dev s1-eth2 {words}')",
        f"h2.cmd('tc qdisc add dev h2-eth0 {words}')",
    }
    assert "Left out" not in program
    compile(program, "two.py", "exec")


def test_a_queue_for_the_rate_of_the_line_is_at_the_root() -> None:
    slow = Port("s1", speed_bps=10_000_000, conditions=Conditions(queue=Queue("codel")))
    nodes = (Host("h1"), Host("h2"), Switch("s1"))
    program = dumps(Topology(nodes=nodes, links=(link("h1", "s1"), link(slow, "h2"))), "two.py")
    assert tc_lines(program) == {"s1.cmd('tc qdisc add dev s1-eth2 root handle 20: codel')"}


def test_a_queue_of_packets_is_a_parameter_and_one_of_bytes_is_not() -> None:
    of_packets = exported(rate="10Mbps", queue=Queue(limit_packets=50))
    assert "max_queue_size=50" in of_packets
    assert tc_lines(of_packets) == set()
    of_bytes = exported(rate="10Mbps", queue=Queue(limit_bytes=64_000))
    assert "s1.cmd('tc qdisc add dev s1-eth2 parent 5:1 handle 20: bfifo limit 64000')" in of_bytes


def test_queues_are_set_once_the_links_exist() -> None:
    program = exported(rate="10Mbps", queue=Queue("codel"))
    assert (
        program.index("net.addLink(s1") < program.index("net.build()") < program.index("tc qdisc")
    )
    assert program.index("tc qdisc") < program.index("CLI(net)")


def test_a_queue_that_needs_classes_is_left_out() -> None:
    program = exported(rate="10Mbps", queue=Queue("prio"))
    assert "# Left out, because Mininet cannot express it: the queue (prio) of s1-eth2" in program
    assert tc_lines(program) == set()
