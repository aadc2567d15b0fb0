"""Test the checks of one network: what is measured, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from wanlab import Network
from wanlab.labs import grade
from wanlab.labs.unit import Band, Check, CheckFlow, Unit

TEST = "[  5]   0.00-10.00  sec   117 MBytes  {} Mbits/sec                  receiver\n"


@dataclass
class Process:
    """Stands in for a process that ends as soon as it is waited for."""

    output: str
    stderr: str = ""
    is_running: bool = False

    def finish(self, limit: str, *, check: bool) -> Process:
        return self


@dataclass
class Nodes:
    """Stands in for a network: every flow has the same throughput, and flows are counted."""

    mbps: float
    clients: list[str] = field(default_factory=list)
    line_rate: str = "1Gbps"
    clock: str = "virtual"

    def __getitem__(self, name: str) -> Nodes:
        return self

    def run_for(self, time: str) -> None:
        pass

    @property
    def now_ns(self) -> int:
        return 0

    def read(self, sources: Any) -> list[bytes]:
        return [b"00000000 00000000\n"]

    def start(self, command: Any) -> Process:
        if "-c" not in command:
            return Process("")
        self.clients.append(command)
        return Process(TEST.format(self.mbps))


BOTH = (CheckFlow("h3", "h1", "iperf3 -c 10.0.0.3"), CheckFlow("h4", "h2", "iperf3 -c 10.0.0.4"))
SUM = Check("use it", 2, "look", "iperf3.sum_receiver_mbps", Band(at_least=90), flows=BOTH)
JAIN = replace(SUM, what="share it", points=3, metric="jain", band=Band(at_least=0.9))
ALONE = replace(SUM, what="alone", band=Band(at_least=60), flows=BOTH[:1])


def marks(nodes: Nodes, *checks: Check) -> list[grade.Mark]:
    unit = Unit(Path(), 1, "problem", "One", "To be graded.", "One.mn", check=checks)
    return grade.grade(replace(unit, line_rate=nodes.line_rate), cast(Network, nodes))


@dataclass
class Unlimited(Nodes):
    """Stands in for a network without link rates; `qdiscs` is what tc prints in each node."""

    qdiscs: str = ""
    line_rate: str = "0"
    topology: Any = field(
        default_factory=lambda: SimpleNamespace(hosts=[SimpleNamespace(name="h1")])
    )

    @property
    def root(self) -> Unlimited:
        return self

    def run(self, command: str, *, check: bool, timeout: str) -> Process:
        return Process(self.qdiscs)


def test_a_flow_of_bytes_over_links_without_a_rate_is_not_measured() -> None:
    nodes = Unlimited(48, qdiscs="qdisc netem 1: dev s1-eth1 root limit 1000 delay 20ms\n")
    (mark,) = marks(nodes, SUM)
    assert (mark.is_passed, mark.reason) == (False, grade.ENDLESS)
    assert nodes.clients == []


def test_a_flow_of_bytes_is_measured_with_a_rate_limit_or_on_the_real_clock() -> None:
    for nodes in (Unlimited(48, qdiscs="qdisc tbf 2: rate 1Gbit"), Unlimited(48, clock="real")):
        assert [mark.is_passed for mark in marks(nodes, SUM)] == [True]


def test_checks_of_the_same_flows_share_one_measurement() -> None:
    nodes = Nodes(48)
    found = marks(nodes, SUM, JAIN, ALONE)
    assert [mark.is_passed for mark in found] == [True, True, False]
    assert [mark.value for mark in found] == [96, 1, 48]
    assert len(nodes.clients) == 3


def test_a_failed_check_has_its_hint_and_no_points() -> None:
    mark = marks(Nodes(40), SUM)[0].report()
    assert (mark["passed"], mark["points"], mark["of"], mark["hint"]) == (False, 0, 2, "look")
    assert (mark["value_text"], mark["band"]) == ("80 Mbit/s", "90 Mbit/s or more")
