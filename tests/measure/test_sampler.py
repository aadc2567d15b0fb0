"""Test sampling: what is read, when, and that it changes no results."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from machines import counts_every_byte

from wanlab import Capture, Flows, Network, Ports, Process, Queues, Sampling, sample, shapes
from wanlab.errors import TopologyError, WanlabError
from wanlab.measure import Acks, Cpu, Drops, Retransmissions, Sampler, Softnet, Sojourns

pytestmark = [pytest.mark.machine, pytest.mark.costs(2)]

Start = Callable[..., Network]
BOTTLENECK = "s1-eth2"


def begin(start: Start, **options: Any) -> tuple[Network, Process]:
    """Start half a second of TCP through 50 Mbit/s."""
    net = start(shapes.dumbbell(pairs=1, rate="50Mbps", delay="5ms", queue="fq_codel"), **options)
    net["h2"].start("iperf3 -s -1")
    net.run_for("10ms")
    return net, net["h1"].start("iperf3 -c h2 -J -n 3M")


def test_samples_have_the_requested_times(start: Start) -> None:
    net, _ = begin(start)
    net.run_for("123456ns")
    tables = sample(net, Queues(BOTTLENECK), Flows("h1"), every="20ms", until="100ms")
    times = [0, 20_000_000, 40_000_000, 60_000_000, 80_000_000, 100_000_000]
    for name in ("qdisc", "tcp"):
        assert sorted(set(tables[name]["time_ns"])) == times


def test_samples_can_be_a_hundred_microseconds_apart(start: Start) -> None:
    net, _ = begin(start)
    tables = sample(net, Queues(BOTTLENECK), every="100us", until="50ms")
    netem = tables["qdisc"].where(kind="netem")
    assert list(netem["time_ns"]) == list(range(0, 50_000_001, 100_000))


def everything() -> list[Sampler]:
    """Return all samplers of counters."""
    return [Queues(BOTTLENECK, "h1-eth0"), Flows("h1", "h2"), Ports(BOTTLENECK), Softnet(), Cpu()]


def all_that_happens() -> list[Sampler]:
    """Return all traces and a capture."""
    traces: list[Sampler] = [Acks("h1"), Retransmissions("h1"), Sojourns(BOTTLENECK), Drops()]
    return [*traces, Capture(BOTTLENECK, "h1-eth0", snaplen=96)]


@counts_every_byte
@pytest.mark.parametrize("wire", ["gso", pytest.param("mtu", marks=pytest.mark.long)])
def test_sampling_changes_nothing(start: Start, wire: str) -> None:
    """Neither iperf3's output nor the instant of its end changes."""
    outputs = []
    for every, samplers in (
        (None, []),
        ("1ms", []),
        ("100ms", everything()),
        ("1ms", everything()),
        ("1ms", [*everything(), *all_that_happens()]),
    ):
        net, flow = begin(start, wire=wire)
        if every:
            Sampling(net, samplers, every=every).run(flow)
            assert not any("lost" in warning for warning in net.warnings)
        outputs.append((flow.finish().output, flow.ended_ns))
    assert outputs[0][1] is not None
    assert outputs[1:] == outputs[:1] * 4


@pytest.mark.long
@pytest.mark.parametrize("wire", ["gso", "mtu"])
def test_sampling_changes_nothing_at_1_gbit(start: Start, wire: str) -> None:
    """Programs wait for each other and for the clock; the interrupted one must continue afterwards."""
    outputs = []
    for every in (None, "10ms", "1ms"):
        net = start(shapes.dumbbell(pairs=1, rate="1Gbps", delay="10ms"), wire=wire)
        net["h2"].start("iperf3 -s -1")
        net.run_for("100ms")
        flow = net["h1"].start("iperf3 -c h2 -t 1 -J")
        if every:
            samplers: list[Sampler] = [Queues("s1-eth2"), Flows("h1", "h2"), Ports("s1-eth2")]
            samplers += [Softnet(), Cpu()]
            Sampling(net, samplers, every=every).run(flow)
        outputs.append((flow.finish().output, flow.ended_ns))
    assert outputs[1:] == outputs[:1] * 2


@pytest.mark.long
@counts_every_byte
def test_sampling_every_hundred_microseconds_changes_nothing(start: Start) -> None:
    outputs = []
    for samplers in ([], everything()):
        net, flow = begin(start)
        Sampling(net, samplers, every="100us" if samplers else "1s").run(flow)
        outputs.append((flow.finish().output, flow.ended_ns))
    assert outputs[1] == outputs[0]


def test_the_last_sample_is_taken_at_the_end(start: Start) -> None:
    net, flow = begin(start)
    passed: list[int] = []
    sampling = Sampling(net, [Queues(BOTTLENECK)], every="200ms")
    sampling.run(flow, progress=passed.append)
    assert flow.ended_ns == net.now_ns
    times = sorted(set(sampling.tables()["qdisc"]["time_ns"]))
    assert times[:-1] == [200_000_000 * i for i in range(len(times) - 1)]
    assert times[-1] == passed[-1] == net.now_ns - sampling.began_ns


def test_counters_are_those_that_tc_and_ss_show(start: Start) -> None:
    net, _ = begin(start)
    sampling = Sampling(net, [Queues(BOTTLENECK), Flows("h1")])
    net.run_for("300ms")

    def shown() -> list[int]:
        output = net.root.run(f"tc -s qdisc show dev {BOTTLENECK}").output
        return [int(sent) for sent in re.findall(r"Sent (\d+) bytes", output)]

    before = shown()
    sampling.sample()
    tables = sampling.tables()
    # tc takes some network time, in which a few packets may pass.
    for low, sent, high in zip(before, tables["qdisc"]["bytes"], shown(), strict=True):
        assert 1_000_000 < low <= sent <= high <= low + 20_000
    sockets = net["h1"].run("ss -tin").output
    for window in tables["tcp"]["snd_cwnd_packets"]:
        assert f"cwnd:{window} " in sockets


def test_ports_of_hosts_and_of_switches_are_read_where_they_are(start: Start) -> None:
    net = start(shapes.linear(2, rate="10Mbps"))
    net["h1"].run("ping -c 3 h2")
    rows = sample(net, Queues("s1-eth2", "h1-eth0", "h2-eth0"), until="10ms")["qdisc"]
    assert set(rows["device"]) == {"h1-eth0", "h2-eth0", "s1-eth2"}
    packets = rows.where(device="h1-eth0", kind="tbf")["packets"]
    assert all(int(count) >= 3 for count in packets)


def test_a_node_without_flows_has_no_table(start: Start) -> None:
    assert sample(start(shapes.minimal()), Flows("h1"), until="10ms") == {}


def test_missing_ports_and_nodes_are_reported_before_time_passes(start: Start) -> None:
    net = start(shapes.minimal())
    with pytest.raises(TopologyError, match=r'no port "s1-eth9" \(did you mean s1-eth'):
        Sampling(net, [Queues("s1-eth9")])
    with pytest.raises(TopologyError, match='no node "h7"'):
        Sampling(net, [Flows("h7")])
    with pytest.raises(WanlabError, match="sampling interval cannot be 1us"):
        Sampling(net, [Queues("s1-eth1")], every="1us")
    assert net.now_ns == 0
