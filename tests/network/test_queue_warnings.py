"""Settings of queues that have another effect than they seem to have are warnings."""

from __future__ import annotations

import pytest

from wanlab import Network, shapes

pytestmark = pytest.mark.machine

HTB = "htb default 1; tc class add dev {port} parent 1: classid 1:1 htb rate {rate}"


@pytest.mark.parametrize(
    ("port", "queue", "words"),
    [
        ("s1-eth1", "tbf rate 10gbit burst 10m limit 10m", "s1-eth1: its shaper allows 10Gbps"),
        ("h1-eth0", "netem rate 2gbit", "h1-eth0: its shaper allows 2Gbps, but its cable"),
        ("s1-eth2", HTB.format(port="s1-eth2", rate="10gbit"), "s1-eth2: its shaper allows"),
        ("s1-eth1", "tbf rate 1gbit burst 1m limit 1m", ""),
        ("s1-eth2", HTB.format(port="s1-eth2", rate="10mbit"), ""),
        ("s1-eth1", "netem delay 1ms", ""),
        ("h1-eth0", "pfifo limit 10", "h1-eth0: the limit of 10 packets of its pfifo counts super"),
        ("h1-eth0", "bfifo limit 15000", ""),
        ("s1-eth1", "pfifo limit 10", ""),
    ],
)
def test_a_queue_with_another_effect_is_named(port: str, queue: str, words: str) -> None:
    with Network(shapes.single(2), line_rate="1Gbps") as net:
        node = net["h1"] if port.startswith("h1") else net.root
        node.run(f"tc qdisc add dev {port} root handle 1: {queue}")
        before = net.now_ns
        found = net.look_at_queues()
        assert net.now_ns == before
        assert len(found) == bool(words)
        assert words in "".join(found)
        node.run(f"tc qdisc del dev {port} root; ethtool -K {port} tso off gso off")
        node.run(f"tc qdisc add dev {port} root pfifo limit 10")
        assert net.look_at_queues() == []


def test_a_cable_without_a_limit_and_a_queue_of_the_topology_are_no_reason() -> None:
    with Network(shapes.single(2), line_rate=0) as net:
        net.root.run("tc qdisc add dev s1-eth1 root tbf rate 10gbit burst 10m limit 10m")
        assert net.look_at_queues() == []
    queue = {"kind": "fifo", "packets": 10}
    with Network(shapes.single(2, rate="10Mbps", queue=queue)) as net:
        assert net.look_at_queues() == []


def test_a_network_and_its_records_have_the_warning_without_asking() -> None:
    with Network(shapes.single(2), line_rate="1Gbps") as net:
        net.root.run("tc qdisc add dev s1-eth1 root tbf rate 10gbit burst 10m limit 10m")
        assert [w for w in net.provenance().warnings if "its shaper allows 10Gbps" in w]
        net.root.run("tc qdisc add dev s1-eth2 root tbf rate 2gbit burst 10m limit 10m")
    assert [w for w in net.warnings if w.startswith("s1-eth2: its shaper allows 2Gbps")]


def test_only_the_ports_of_one_namespace_are_looked_at() -> None:
    with Network(shapes.single(2), line_rate="1Gbps") as net:
        for node, port in ((net.root, "s1-eth1"), (net["h1"], "h1-eth0")):
            node.run(f"tc qdisc add dev {port} root tbf rate 10gbit burst 10m limit 10m")
        assert [found.partition(":")[0] for found in net.look_at_queues("h1")] == ["h1-eth0"]
        assert [found.partition(":")[0] for found in net.look_at_queues("")] == ["s1-eth1"]
