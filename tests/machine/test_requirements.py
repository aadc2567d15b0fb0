from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from wanlab.machine.native.requirements import (
    KernelNeeds,
    kernel_option,
    missing,
    needs_of,
    qdisc_kind,
)
from wanlab.plan import plan
from wanlab.topology import ensure, link, resolve
from wanlab.topology.model import Host, Port, Switch, Topology

if TYPE_CHECKING:
    from wanlab.agent.probe import ProbeResult

NOTHING: ProbeResult = {"qdiscs": {}, "links": {}, "algorithms": {}, "sysctls": {}}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("qdisc add dev h1-eth0 root handle 1: netem delay 5ms", "netem"),
        ("qdisc add dev h1-eth0 parent 1: handle 2: tbf rate 1mbit", "tbf"),
        ("qdisc add dev h1-eth0 root fq_codel", "fq_codel"),
        ("qdisc add dev h1-eth0 ingress", "ingress"),
    ],
)
def test_the_kind_of_a_queue_is_read_from_its_line(line: str, kind: str) -> None:
    assert qdisc_kind(line) == kind


def test_the_needs_of_a_plan_are_listed_once_each() -> None:
    slow = Port("h1", speed_bps=10_000_000)
    topology = Topology(
        nodes=(Host("h1", default_route="10.0.0.9"), Host("h2"), Switch("s1")),
        links=(
            link(slow, "s1", a_to_b={"rate": "5Mbps", "delay": "1ms", "queue": "codel"}),
            link("h2", "s1", a_to_b={"delay": "1ms"}),
        ),
    )
    operations = plan(resolve(ensure(topology)), sysctls={"net.ipv4.tcp_sack": "0"})
    needs = needs_of(operations)
    assert needs.qdiscs == ("netem", "tbf", "codel")
    assert needs.links == ("bridge", "veth")
    assert ("net.ipv4.tcp_sack", "0") in needs.sysctls
    assert needs.programs == ("ip", "tc")
    assert [words.partition(":")[0] for words in needs.impossible] == ["speed of h1-eth0"]


def test_nothing_is_missing_when_everything_is_there() -> None:
    found: ProbeResult = {
        **NOTHING,
        "qdiscs": {"tbf": ""},
        "links": {"veth": ""},
        "sysctls": {"net.a = 1": ""},
    }
    assert missing(KernelNeeds(programs=("tc",)), found, {"tc"}) == []


def test_each_missing_thing_is_named_with_its_cause() -> None:
    found: ProbeResult = {
        **NOTHING,
        "qdiscs": {"tbf": "", "fq_pie": "No such file or directory"},
        "links": {"bridge": "Operation not supported"},
        "sysctls": {
            "net.ipv4.tcp_congestion_control = htcp": "No such file or directory",
            "net.ipv4.tcp_congestion_control = cubic": "Operation not permitted",
            "net.ipv4.none = 1": "No such file or directory",
        },
    }
    assert missing(KernelNeeds(programs=("tc",), impossible=("a speed",)), found, set()) == [
        "queueing discipline fq_pie (kernel option CONFIG_NET_SCH_FQ_PIE)",
        "network device bridge (kernel option CONFIG_BRIDGE)",
        "net.ipv4.tcp_congestion_control = htcp: the kernel has no such algorithm",
        "net.ipv4.tcp_congestion_control = cubic: Operation not permitted "
        "(as root, list it in net.ipv4.tcp_allowed_congestion_control)",
        "net.ipv4.none = 1: No such file or directory",
        "program tc (install iproute2)",
        "a speed",
    ]
    assert missing(KernelNeeds(), NOTHING, set()) == []


def test_the_option_of_a_queue_is_one_that_the_kernel_has() -> None:
    assert kernel_option("fq_codel") == "CONFIG_NET_SCH_FQ_CODEL"
    assert kernel_option("clsact") == "CONFIG_NET_SCH_INGRESS"  # one module registers both
