"""Settings of queues that have another effect than they seem to have are warnings."""

from __future__ import annotations

import pytest

from wanlab import Network, shapes
from wanlab.measure.queue_warnings import queue_warnings

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
        found = queue_warnings(net)
        assert net.now_ns == before
        assert len(found) == bool(words)
        assert words in "".join(found)
        node.run(f"tc qdisc del dev {port} root; ethtool -K {port} tso off gso off")
        node.run(f"tc qdisc add dev {port} root pfifo limit 10")
        assert queue_warnings(net) == []


def test_a_cable_without_a_limit_and_a_queue_of_the_topology_are_no_reason() -> None:
    with Network(shapes.single(2), line_rate=0) as net:
        net.root.run("tc qdisc add dev s1-eth1 root tbf rate 10gbit burst 10m limit 10m")
        assert queue_warnings(net) == []
    queue = {"kind": "fifo", "packets": 10}
    with Network(shapes.single(2, rate="10Mbps", queue=queue)) as net:
        assert queue_warnings(net) == []
