"""Shares of a link: classes of HTB, DRR and prio, fair queues, and flows that share one queue.

Greedy UDP, which exceeds the rate, through classes or fair queues:

    HTB        each class gets its rate; the remaining rate is shared in proportion to the quanta; a
               class that is alone may borrow all of it, up to its ceil
    DRR, prio  bytes in proportion to the quanta; nothing for a lower band while a higher one has packets
    SFQ        an equal share for each flow, whatever it sends
    FQ_CoDel   the same for TCP flows, whatever their algorithms and round trips

The packets that arrive in ten seconds are counted. Deficits and queues are a few packets, so shares are
accurate to a few packets in some thousands. Flows that share one drop-tail queue are equal only on
average over a long time: Jain's index (sum x)^2 / (n sum x^2) is then 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wanlab import Host, Switch, Topology, link, ping
from wanlab.measure.fairness import jain

from .aqm import CODEL_TARGET_MS
from .buffers import utilisation
from .figure import Case, Figure, near
from .flows import BUFFERS, Flow, begin, carried
from .probes import (
    FULL_FRAME_BYTES,
    PORT,
    acquaint,
    arrivals,
    network,
    pair,
    receiver,
    sender,
)

RATE_BPS = 10_000_000
SETTLE_S, WINDOW_S = 2, 10
# Of 8000 packets in ten seconds; a quantum is up to four.
PACKETS = 0.002


def rates_mbps(commands: Sequence[str], offered_mbps: Sequence[float]) -> list[float]:
    """Return the rates of UDP flows to ports 5001, 5002, ... in frames, after tc commands at h1-eth0."""
    seconds = SETTLE_S + WINDOW_S + 1
    with network(pair()) as net:
        net["h1"].run(" && ".join(commands))
        address = acquaint(net, "h1", "h2")
        ports = [PORT + n for n in range(len(offered_mbps))]
        receiving = [receiver(net, "h2", port) for port in ports]
        sent = []
        for port, mbps in zip(ports, offered_mbps, strict=True):
            interval_ns = int(FULL_FRAME_BYTES * 8e3 / mbps)
            count = seconds * 1_000_000_000 // interval_ns
            sent.append(sender(net, "h1", address, count=count, interval_ns=interval_ns, port=port))
        net.run_for(f"{seconds}s")
        flows = [
            arrivals(net, process, port) for process, port in zip(receiving, ports, strict=True)
        ]
    first_ns = min(int(flow.received_ns[0]) for flow in flows if len(flow))
    began_ns = first_ns + SETTLE_S * 1_000_000_000
    ended_ns = began_ns + WINDOW_S * 1_000_000_000
    counts = [
        int(np.count_nonzero((flow.received_ns >= began_ns) & (flow.received_ns < ended_ns)))
        for flow in flows
    ]
    return [count * FULL_FRAME_BYTES * 8 / WINDOW_S / 1e6 for count in counts]


def by_port(parent: str, classes: Sequence[str]) -> list[str]:
    """Return filters by destination port."""
    match = f"tc filter add dev h1-eth0 parent {parent} protocol ip u32 match ip dport"
    return [f"{match} {PORT + n} 0xffff flowid {name}" for n, name in enumerate(classes)]


def shaped(child: str) -> list[str]:
    """Return a tbf of 10 Mbit/s with a qdisc below it."""
    return [
        f"tc qdisc add dev h1-eth0 root handle 1: tbf rate {RATE_BPS}bit burst 3028 limit 1000000",
        f"tc qdisc add dev h1-eth0 parent 1: handle 2: {child}",
    ]


HTB = [
    "tc qdisc add dev h1-eth0 root handle 1: htb",
    f"tc class add dev h1-eth0 parent 1: classid 1:1 htb rate {RATE_BPS}bit",
    "tc class add dev h1-eth0 parent 1:1 classid 1:10 htb rate 5mbit ceil 10mbit quantum 3028",
    "tc class add dev h1-eth0 parent 1:1 classid 1:20 htb rate 2mbit ceil 10mbit quantum 1514",
    "tc qdisc add dev h1-eth0 parent 1:10 bfifo limit 200000",
    "tc qdisc add dev h1-eth0 parent 1:20 bfifo limit 200000",
    *by_port("1:", ["1:10", "1:20"]),
]


def shares(
    name: str, commands: Sequence[str], offered: Sequence[float], expected: Sequence[float]
) -> list[Figure]:
    measured = rates_mbps(commands, offered)
    return [
        near(
            f"{name}: flow {n + 1} of {len(offered)}, {offered_mbps:g} Mbit/s offered",
            "qdisc",
            theory,
            mbps,
            within=PACKETS * RATE_BPS / 1e6 / theory if theory else 0,
            unit="Mbit/s",
            reason="packets, quanta",
        )
        for n, (offered_mbps, theory, mbps) in enumerate(
            zip(offered, expected, measured, strict=True)
        )
    ]


def htb() -> list[Figure]:
    # 5 + 2 are assured; the other 3 are shared 2 : 1, as the quanta are.
    return [
        *shares("htb 5 and 2 of 10 Mbit/s, both greedy", HTB, (12, 12), (7, 3)),
        *shares("htb 5 and 2 of 10 Mbit/s, one modest", HTB, (1, 12), (1, 9)),
    ]


def drr() -> list[Figure]:
    classes = [
        f"tc class add dev h1-eth0 parent 2: classid 2:{n} drr quantum {quantum}"
        for n, quantum in ((1, 4542), (2, 1514))
    ]
    queues = [f"tc qdisc add dev h1-eth0 parent 2:{n} bfifo limit 200000" for n in (1, 2)]
    commands = [*shaped("drr"), *classes, *queues, *by_port("2:", ["2:1", "2:2"])]
    return shares("drr, quanta 3 : 1", commands, (12, 12), (7.5, 2.5))


def prio() -> list[Figure]:
    commands = [*shaped("prio bands 2 priomap" + " 1" * 16), *by_port("2:", ["2:1", "2:2"])]
    return shares("prio", commands, (4, 12), (4, 6))


def sfq() -> list[Figure]:
    offered = (12, 6, 3, 1)
    return shares("sfq", shaped("sfq"), offered, (3, 3, 3, 1))


# -- TCP ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sharing:
    """A network in which flows from several hosts share one port."""

    congestions: tuple[str, ...]
    rtts_ms: tuple[int, ...]
    queue: dict[str, object]
    settle: str
    window: str


def shared(case: Sharing) -> tuple[list[float], float]:
    """Return the flows' goodputs in Mbit/s, and the mean RTT of a ping beside them in ms."""
    senders = [f"h{n + 1}" for n in range(len(case.congestions))]
    delays = zip(senders, case.rtts_ms, strict=True)
    topology = Topology(
        nodes=(*map(Host, senders), Host("r1"), Switch("s1")),
        links=(
            *(link(name, "s1", b_to_a={"delay": f"{rtt_ms}ms"}) for name, rtt_ms in delays),
            link("s1", "r1", a_to_b={"rate": RATE_BPS, "queue": case.queue}),
        ),
    )
    flows = [
        Flow(name, "r1", n, congestion)
        for n, (name, congestion) in enumerate(zip(senders, case.congestions, strict=True))
    ]
    with network(topology, sysctls=BUFFERS) as net:
        begin(net, flows, apart="370ms")
        result = carried(net, flows, settle=case.settle, window=case.window, every="10s")
        pings = ping.parse(net["h1"].run("ping -q -c 50 -i 0.1 r1").output)
    assert pings.mean_ms is not None
    return [rate / 1e6 for rate in result.goodputs_bps], pings.mean_ms


GOODPUT_MBPS = RATE_BPS / 1e6 * 1448 / 1514


def fq_codel() -> list[Figure]:
    """Use short RTTs, where no queue is ever empty, and long ones, of which CoDel's 5 ms are 1/16."""
    algorithms = ("reno", "cubic", "reno", "cubic")
    near_by = Sharing(algorithms, (10, 10, 10, 10), {"kind": "fq_codel"}, "20s", "60s")
    far = Sharing(algorithms, (10, 20, 40, 80), {"kind": "fq_codel"}, "20s", "60s")
    rates, rtt_ms = shared(near_by)
    far_rates, _ = shared(far)
    packet_ms = FULL_FRAME_BYTES * 8e3 / RATE_BPS
    share = GOODPUT_MBPS / 4
    return [
        near(
            "fq_codel, Reno and CUBIC, RTT 10 ms: smallest of 4 shares",
            "qdisc",
            share,
            min(rates),
            within=0.005,
            unit="Mbit/s",
        ),
        Figure(
            effect="fq_codel, Reno and CUBIC, RTT 10 to 80 ms: smallest of 4 shares",
            origin="qdisc",
            theory=share,
            measured=min(far_rates),
            least=share * utilisation(CODEL_TARGET_MS / max(far.rtts_ms)),
            most=share,
            unit="Mbit/s",
            reason="what one Reno flow can use with a buffer of 5 ms",
        ),
        near(
            "fq_codel, Reno and CUBIC, RTT 10 to 80 ms: sum",
            "qdisc",
            GOODPUT_MBPS,
            sum(far_rates),
            within=0.01,
            unit="Mbit/s",
        ),
        # A packet that comes alone is served next; it waits for the one that is leaving.
        Figure(
            effect="fq_codel: RTT of a ping beside these flows (path 10 ms)",
            origin="qdisc",
            theory=10 + packet_ms / 2,
            measured=rtt_ms,
            least=10,
            most=10 + 2 * packet_ms,
            unit="ms",
            reason="0 to 2 packets",
        ),
    ]


def equal(congestion: str) -> list[Figure]:
    """Share a drop-tail queue of one bandwidth-delay product, with equal RTTs."""
    case = Sharing(
        (congestion,) * 4, (40, 40, 40, 40), {"kind": "fifo", "limit": 50_000}, "30s", "200s"
    )
    rates, _ = shared(case)
    return [
        Figure(
            effect=f"4 equal {congestion} flows, drop-tail, 200 s: Jain's index",
            origin="kernel",
            theory=1.0,
            measured=jain(rates),
            least=0.95,
            most=1.0,
            reason="shares within a quarter of each other",
        ),
        near(
            f"4 equal {congestion} flows, drop-tail: sum",
            "kernel",
            GOODPUT_MBPS,
            sum(rates),
            within=0.01,
            unit="Mbit/s",
        ),
    ]


CASES = (
    Case("htb", htb),
    Case("drr", drr),
    Case("prio", prio),
    Case("sfq", sfq),
    Case("fq_codel", fq_codel),
    Case("equal reno", lambda: equal("reno")),
    Case("equal cubic", lambda: equal("cubic")),
)
