"""tbf and HTB: the burst that leaves at once, and the times at which later packets leave.

A full token bucket releases its burst at line rate, and frame k when k frames minus the burst fit into
the rate. So of many packets that are sent at once, packet k leaves at

    t(k) = (k L - B) 8 / R      of frames of L bytes, with a bucket of B bytes

after the first one. `latency` is the maximum time that a packet waits for tokens; it sets the limit to
R latency / 8 + B (tc-tbf(8)). HTB has the same kind of bucket, which is small here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .figure import Case, Figure, near
from .probes import FULL_FRAME_BYTES, network, pair, probe

RATE_BPS = 10_000_000
FRAME_NS = FULL_FRAME_BYTES * 8 * 1_000_000_000 // RATE_BPS
BURST_FRAMES, SENT = 20, 80
LATENCY_MS = 50


def offsets_ns(command: str, count: int, interval_ns: int = 0) -> npt.NDArray[np.int64]:
    """Return the arrival time of each packet, relative to the first."""
    with network(pair()) as net:
        net["h1"].run(command)
        received = probe(net, count=count, interval_ns=interval_ns)
    result: npt.NDArray[np.int64] = received.received_ns - received.received_ns[0]
    return result


def burst() -> list[Figure]:
    words = f"rate {RATE_BPS}bit burst {BURST_FRAMES * FULL_FRAME_BYTES} limit 1000000"
    arrived = offsets_ns(f"tc qdisc add dev h1-eth0 root tbf {words}", SENT)
    assert len(arrived) == SENT, "a packet was lost"
    at_once = int(np.count_nonzero(arrived < FRAME_NS // 2))
    return [
        near(
            "tbf, burst of 20 frames: frames at line rate", "qdisc", BURST_FRAMES, at_once, within=0
        ),
        near(
            "tbf, burst of 20 frames: from the first of 80 to the last",
            "qdisc",
            (SENT - BURST_FRAMES) * FRAME_NS / 1e6,
            float(arrived[-1]) / 1e6,
            unit="ms",
            within=1e-4,
        ),
    ]


def latency() -> list[Figure]:
    """Measure the delay of packets that were not dropped."""
    words = f"rate {RATE_BPS}bit burst {2 * FULL_FRAME_BYTES} latency {LATENCY_MS}ms"
    with network(pair()) as net:
        net["h1"].run(f"tc qdisc add dev h1-eth0 root tbf {words}")
        received = probe(net, count=200, interval_ns=FRAME_NS // 2)
    max_ms = float(received.delays_ns.max()) / 1e6
    frame_ms = FRAME_NS / 1e6
    return [
        Figure(
            effect="tbf, latency 50 ms: longest delay",
            origin="qdisc",
            theory=LATENCY_MS,
            measured=max_ms,
            least=LATENCY_MS - frame_ms,
            most=LATENCY_MS + 2 * frame_ms,
            unit="ms",
            reason="whole frames fit into the limit",
        )
    ]


def htb_rate() -> list[Figure]:
    command = (
        "tc qdisc add dev h1-eth0 root handle 1: htb default 10 && "
        "tc class add dev h1-eth0 parent 1: classid 1:10 "
        f"htb rate {RATE_BPS}bit burst 1514 cburst 1514 && "
        "tc qdisc add dev h1-eth0 parent 1:10 bfifo limit 10000000"
    )
    arrived = offsets_ns(command, 400)
    spacing = float(arrived[-1] - arrived[100]) / (len(arrived) - 101)
    return [
        near(
            "htb, rate 10 Mbit/s: output rate",
            "qdisc",
            RATE_BPS / 1e6,
            FULL_FRAME_BYTES * 8e3 / spacing,
            unit="Mbit/s",
            within=1e-4,
        )
    ]


CASES = (Case("burst", burst), Case("latency", latency), Case("htb", htb_rate))
