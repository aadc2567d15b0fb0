"""Test the checks of one network: what is measured, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.labs import grade
from wanlab.labs.unit import Band, Check, CheckFlow, Unit
from wanlab.measure import Sent

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


# -- guards -----------------------------------------------------------------------------------------

STATE = Check("the address is right", 1, "look", state="ip addr", says=("10.0.0.3",))
GUARD = Check("nothing is broken", 3, "look", state="ping -c 1 h2", is_guard=True)


def points(*passed: tuple[Check, bool]) -> list[float]:
    marks = [grade.Mark(check, is_passed, None, "") for check, is_passed in passed]
    return [mark.points for mark in grade._with_guards(marks)]


def test_a_guard_counts_only_if_all_measured_checks_pass() -> None:
    assert points((GUARD, True), (SUM, True), (JAIN, True)) == [3, 2, 3]
    assert points((GUARD, True), (SUM, True), (JAIN, False)) == [0, 2, 0]
    assert points((GUARD, False), (SUM, True)) == [0, 2]


def test_a_guard_counts_whether_or_not_a_state_is_right_if_something_was_measured() -> None:
    assert points((STATE, False), (SUM, True), (GUARD, True)) == [0, 2, 3]


def test_a_guard_counts_only_if_all_states_are_right_if_nothing_was_measured() -> None:
    assert points((STATE, True), (GUARD, True)) == [1, 3]
    assert points((STATE, True), (STATE, False), (GUARD, True)) == [1, 0, 0]


def test_a_measuring_guard_does_not_earn_points_by_itself() -> None:
    guard = replace(SUM, is_guard=True)
    assert points((guard, True), (JAIN, False)) == [0, 0]
    assert points((guard, True), (STATE, False)) == [0, 0]
    assert points((guard, False), (JAIN, True)) == [0, 3]


# -- the path of measured traffic -------------------------------------------------------------------

THROUGH = replace(SUM, through=("s1-eth1",))
ANSWERS = "64 bytes from 10.0.0.3: icmp_seq=1 ttl=64 time=20.1 ms\n" * 5
RECEIVED = '{"end": {"sum_received": {"bytes": 1000000}}}'


def sent(packets: int, bytes: int) -> grade.Measurement:
    return grade.Measurement([ANSWERS], {"s1-eth1": Sent(packets, bytes)})


def test_every_answer_to_a_ping_must_have_passed_the_port() -> None:
    grade._verify_path(THROUGH, sent(5, 490))
    with pytest.raises(WanlabError, match="did not pass s1-eth1: 0 bytes and 5 answers were"):
        grade._verify_path(THROUGH, sent(4, 490))


def test_the_received_bytes_must_have_passed_the_port() -> None:
    both = [RECEIVED, RECEIVED]
    grade._verify_path(THROUGH, grade.Measurement(both, {"s1-eth1": Sent(1400, 1_960_000)}))
    with pytest.raises(WanlabError, match=r"2,000,000 bytes and 0 answers were .*1,959,999 bytes"):
        grade._verify_path(THROUGH, grade.Measurement(both, {"s1-eth1": Sent(1400, 1_959_999)}))


def test_each_port_must_have_been_passed() -> None:
    ports = {"s1-eth1": Sent(5, 490), "s2-eth1": Sent(0, 0)}
    grade._verify_path(THROUGH, grade.Measurement([ANSWERS], ports))
    check = replace(THROUGH, through=("s1-eth1", "s2-eth1"))
    with pytest.raises(WanlabError, match="did not pass s2-eth1"):
        grade._verify_path(check, grade.Measurement([ANSWERS], ports))


def test_only_what_was_sent_during_a_measurement_counts() -> None:
    since = grade._since({"s1-eth1": Sent(3, 300)}, {"s1-eth1": Sent(8, 790)})
    assert since == {"s1-eth1": Sent(5, 490)}


@dataclass
class Client:
    """Stands in for a client that never ends."""

    is_running: bool = True


@dataclass
class Busy:
    """Stands in for a network that receives so many packets a second, counted in 32 bits."""

    packets_per_s: int
    clock: str = "virtual"
    now_ns: int = 7_000_000_000
    packets: int = (1 << 32) - 1_000

    def read(self, sources: Any) -> list[bytes]:
        return [f"{self.packets % (1 << 32):08x} 00000000\n".encode()]

    def run_until_condition(self, condition: Any, limit_ns: int) -> None:
        assert not condition()
        self.now_ns += limit_ns
        self.packets += self.packets_per_s * limit_ns // 10**9


@pytest.mark.parametrize(
    ("packets_per_s", "stopped"),
    [(1_000, ""), (20_000_000, "after 2 s"), (20_000_001, "after 1 s"), (3_000_000, "after 7 s")],
)
def test_a_measurement_ends_when_more_packets_pass_than_a_correct_network_forwards(
    packets_per_s: int, stopped: str
) -> None:
    reason = grade._wait_for_clients([cast(Any, Client())], cast(Network, Busy(packets_per_s)))
    assert stopped in reason
    assert bool(reason) == bool(stopped)


def test_on_the_real_clock_the_number_of_packets_does_not_matter() -> None:
    busy = Busy(10**9, clock="real")
    assert grade._wait_for_clients([cast(Any, Client())], cast(Network, busy)) == ""
    assert busy.now_ns == 7_000_000_000 + grade.FLOW_LIMIT_NS


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_measurement_says_every_five_seconds_how_long_it_has_taken(clock: str) -> None:
    seconds: list[float] = []
    busy = cast(Network, Busy(1_000, clock=clock))
    grade._wait_for_clients([cast(Any, Client())], busy, seconds.append)
    assert seconds[:3] == [5, 10, 15]
    assert len(seconds) == 119


def test_each_check_is_announced_with_its_number() -> None:
    lines: list[str] = []
    unit = Unit(Path(), 1, "problem", "One", "To be graded.", "One.mn", check=(SUM, JAIN))
    unit = replace(unit, line_rate="1Gbps")
    grade.grade(unit, cast(Network, Nodes(48)), lines.append)
    assert lines == ["check 1 of 2: use it", "check 2 of 2: share it"]


def test_a_client_that_has_ended_is_not_waited_for() -> None:
    busy = Busy(10**9)
    assert grade._wait_for_clients([cast(Any, Client(False))], cast(Network, busy)) == ""
    assert busy.now_ns == 7_000_000_000
