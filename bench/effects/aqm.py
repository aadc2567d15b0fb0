"""Active queue management: RED's drop curve, and the delays that CoDel and PIE aim at.

RED drops with p_b = max_p (avg - min)/(max - min), but the drops are not independent: the number of
packets from one drop to the next is uniform in 1 ... 1/p_b (Floyd, Jacobson 1993, method 2;
red_mark_probability in include/net/red.h), so RED drops 2 p_b/(1 + p_b) of all packets. Constant UDP
above the rate settles at the average queue at which RED drops exactly the excess. The figure compares
the drops with the curve at the measured average. RED looks at the queue just before it adds a packet,
when the queue is half a packet below its mean over time. From one drop to the next, the queue and its
average grow by a packet, so the curve is accurate to half a packet of avg - min.

PIE (RFC 8033) sums up the difference between the delay and its target, so under constant overload, the
mean delay is the target, whatever the load. Under TCP, its gains depend on its probability: while the
queue grows, the probability is low and rises slowly; while the queue shrinks, it is high and falls
fast. So the mean delay is above the target, and fewer flows have a higher mean.

CoDel (RFC 8289) has a target for the minimum delay in an interval of 100 ms, not for the mean: it drops
until the minimum is below 5 ms. The figure is the median of the minimum delays of all intervals. A
single flow that reduces its window empties the queue; with more flows, the median is closer to the
target.

Both are children of a tbf here. It looks at its next packet by taking it out of the child, and then
waits for tokens (qdisc_peek_dequeued). So the child sees a packet's delay without the time of that last
packet, and the real queue is one packet longer than the child's target: 1.2 ms at 10 Mbit/s.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wanlab import Host, Queues, Sampling, Switch, Topology, link

from .figure import Case, Figure, near
from .flows import BUFFERS, Flow, begin, grown
from .probes import FULL_FRAME_BYTES, acquaint, network, pair, receiver, sender

RATE_BPS = 10_000_000
FRAME_NS = FULL_FRAME_BYTES * 8 * 1_000_000_000 // RATE_BPS
FRAME_MS = FRAME_NS / 1e6
MIN_BYTES, MAX_BYTES, PROBABILITY = 30_000, 90_000, 0.1
RED_WORDS = (
    f"limit 400000 min {MIN_BYTES} max {MAX_BYTES} avpkt 1514 burst 33 probability {PROBABILITY} "
    f"bandwidth {RATE_BPS}bit"
)
SECONDS, SAMPLE_MS = 60, 5
PIE_TARGET_MS, CODEL_TARGET_MS, CODEL_INTERVAL_MS = 15.0, 5.0, 100


def _shape(child: str) -> str:
    return (
        f"tc qdisc add dev h1-eth0 root handle 1: tbf rate {RATE_BPS}bit burst 3028 limit 1000000 && "
        f"tc qdisc add dev h1-eth0 parent 1: handle 2: {child}"
    )


def overload(child: str, load: float, seconds: int = SECONDS) -> tuple[float, float]:
    """Return the mean backlog in bytes of a queue that UDP overloads, and the fraction it drops."""
    interval_ns = int(FRAME_NS / load)
    with network(pair()) as net:
        net["h1"].run(_shape(child))
        address = acquaint(net, "h1", "h2")
        receiver(net, "h2")  # without a receiver, ICMP errors would take the time of packets
        count = (seconds + 11) * 1_000_000_000 // interval_ns
        sender(net, "h1", address, count=count, interval_ns=interval_ns)
        net.run_for("10s")
        sampling = Sampling(net, [Queues("h1-eth0")], every="7ms")
        sampling.run(f"{seconds}s")
        queue = sampling.tables()["qdisc"].where(handle="2:")
    drops, sent = grown(queue, "drops"), grown(queue, "packets")
    return float(np.mean(np.asarray(queue["backlog_bytes"]))), drops / (drops + sent)


def red(load: float) -> list[Figure]:
    mean, dropped = overload(f"red {RED_WORDS}", load)
    average = mean - FULL_FRAME_BYTES / 2
    uniform = PROBABILITY * (average - MIN_BYTES) / (MAX_BYTES - MIN_BYTES)
    return [
        near(
            f"red, load {load:g}: drops at an average queue of {average / 1000:.1f} kB",
            "qdisc",
            100 * 2 * uniform / (1 + uniform),
            100 * dropped,
            within=FULL_FRAME_BYTES / 2 / (average - MIN_BYTES),
            unit="%",
            reason="the average queue is known to half a packet",
        )
    ]


def pie_overload(seconds: int = SECONDS) -> list[Figure]:
    average, _ = overload("pie limit 1000", 1.1, seconds)
    return [
        near(
            "pie, constant overload: mean delay (target 15 ms and a packet)",
            "qdisc",
            PIE_TARGET_MS + FRAME_MS,
            average * 8e3 / RATE_BPS,
            within=0.02,
            unit="ms",
        )
    ]


def delays_ms(kind: str, flows: int, congestion: str, rtt_ms: int) -> npt.NDArray[np.float64]:
    """Return the delays in ms of a queue with TCP flows of an RTT, sampled every 5 ms."""
    topology = Topology(
        nodes=(Host("h1"), Switch("s1"), Host("h2")),
        links=(
            link("h1", "s1", b_to_a={"delay": f"{rtt_ms}ms"}),
            link("s1", "h2", a_to_b={"rate": RATE_BPS, "queue": kind}),
        ),
    )
    with network(topology, sysctls=BUFFERS) as net:
        begin(net, [Flow("h1", "h2", n, congestion) for n in range(flows)], apart="130ms")
        net.run_for("20s")
        sampling = Sampling(net, [Queues("s1-eth2")], every=f"{SAMPLE_MS}ms")
        sampling.run(f"{SECONDS}s")
        queue = sampling.tables()["qdisc"].where(device="s1-eth2", handle="3:")
    return np.asarray(queue["backlog_bytes"]) * 8e3 / RATE_BPS


def codel(flows: int, rtt_ms: int) -> list[Figure]:
    samples = delays_ms("codel", flows, "cubic", rtt_ms)
    per_interval = CODEL_INTERVAL_MS // SAMPLE_MS
    whole = samples[: len(samples) // per_interval * per_interval].reshape(-1, per_interval)
    return [
        Figure(
            effect=f"codel, {flows} CUBIC: median of the minimum delays (target 5 ms and a packet)",
            origin="qdisc",
            theory=CODEL_TARGET_MS + FRAME_MS,
            measured=float(np.median(whole.min(axis=1))),
            least=0.0,
            most=CODEL_TARGET_MS + 2 * FRAME_MS,
            unit="ms",
            reason="no more than the target and two packets",
        )
    ]


def pie(flows: int) -> list[Figure]:
    return [
        Figure(
            effect=f"pie, {flows} Reno: mean delay (target 15 ms and a packet)",
            origin="qdisc",
            theory=PIE_TARGET_MS + FRAME_MS,
            measured=float(np.mean(delays_ms("pie", flows, "reno", 20))),
            least=PIE_TARGET_MS / 2,
            most=2 * PIE_TARGET_MS,
            unit="ms",
            reason="half the target (below, PIE drops nothing) to twice",
        )
    ]


CASES = (
    *(Case(f"red {load:g}", lambda load=load: red(load)) for load in (1.02, 1.05, 1.1)),  # type: ignore[misc]
    Case("pie overload", pie_overload),
    *(Case(f"pie {n}", lambda n=n: pie(n)) for n in (1, 10)),  # type: ignore[misc]
    Case("codel 1", lambda: codel(1, 20)),
    Case("codel 4", lambda: codel(4, 40)),
)
