"""Reno's goodput on a path that loses packets at random, and nothing else (wire mtu).

    Mathis    MSS/RTT * C/sqrt(p), C = 1.31 if losses are random and every packet is acknowledged
              (Mathis, Semke, Mahdavi, Ott 1997, table 1; 1.22 = sqrt(3/2) for periodic losses)
    PFTK      MSS / (RTT sqrt(2 b p/3) + T0 min(1, 3 sqrt(3 b p/8)) p (1 + 32 p^2)), which counts
              timeouts too (Padhye, Firoiu, Towsley, Kurose 1998)
    rounds    a simulation of Linux with random numbers: windows of whole packets, one reduction for all
              losses of a window, a round trip of recovery without growth, no timeouts

b is the number of packets that one acknowledgement covers. Linux delays acknowledgements, but its window
grows by the packets that are acknowledged, not by acknowledgements (tcp_cong_avoid_ai), so b = 1. T0 is
the RTT plus 200 ms (TCP_RTO_MIN; RFC 6298 has one second).

C is the limit for large windows. At p = 1 %, a window is 13 packets, and the simulated rounds give 1.19.
PFTK assumes a timeout for every loss that three duplicate acknowledgements cannot reveal. Linux has
SACK, RACK and tail loss probes (RFC 2018, 8985) and almost never times out. So Linux is never below
PFTK, and it is closer to PFTK if T0 is smaller in relation to the RTT.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache

from wanlab import shapes

from .figure import SIGMAS, Case, Figure, binomial
from .flows import BUFFERS, MSS_BYTES, Flow, begin, carried, grown, of_data
from .probes import network

RANDOM_LOSSES = 1.31
MIN_RTO_S = 0.2
MIN_WINDOW = 2
# Accepted errors of textbook formulas, and of rounds, which differ from Linux only around a loss.
BOOK, ROUNDS = 0.1, 0.03
SIMULATED_REDUCTIONS = 20_000


@dataclass(frozen=True)
class Path:
    rtt_ms: int
    loss: float
    seconds: int

    def __str__(self) -> str:
        return f"RTT {self.rtt_ms} ms, p {100 * self.loss:g} %"


PATHS = (
    Path(10, 0.01, 100),
    Path(50, 0.01, 400),
    Path(200, 0.01, 1600),
    Path(10, 0.001, 200),
    Path(50, 0.001, 600),
    Path(200, 0.001, 1200),
    Path(50, 0.0001, 400),
)


def mathis_bps(path: Path) -> float:
    return RANDOM_LOSSES * MSS_BYTES * 8 / (path.rtt_ms / 1e3) / math.sqrt(path.loss)


def pftk_bps(path: Path, b: int = 1) -> float:
    rtt_s, p = path.rtt_ms / 1e3, path.loss
    timeouts = min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return MSS_BYTES * 8 / (rtt_s * math.sqrt(2 * b * p / 3) + (rtt_s + MIN_RTO_S) * timeouts)


@cache
def rounds_constant(p: float) -> float:
    """Return C for windows of whole packets."""
    dice = random.Random(1)
    window, packets, rounds = 10, 0, 0
    for _ in range(SIMULATED_REDUCTIONS):
        while dice.random() < (1 - p) ** window:
            packets += window
            rounds += 1
            window += 1
        recovering = max(window // 2, MIN_WINDOW)
        packets += window + recovering
        rounds += 2
        window = recovering
    return packets / rounds * math.sqrt(p)


def reno(path: Path) -> list[Figure]:
    flow = Flow("h1", "h2", 0)
    words = f"delay {path.rtt_ms}ms loss {100 * path.loss:g}% limit 1000000"
    with network(shapes.single(2), sysctls=BUFFERS) as net:
        net.root.run(f"tc qdisc add dev s1-eth2 root netem {words}")
        begin(net, [flow])
        result = carried(
            net, [flow], settle="10s", window=f"{path.seconds}s", queues=["s1-eth2"], every="10s"
        )
    queue = result.queue(device="s1-eth2", kind="netem")
    drops = grown(queue, "drops")
    timeouts = int(max(of_data(result.sampling["tcp"], flow, "h1")["total_rto"]))
    goodput = result.goodputs_bps[0] / 1e6
    mathis, pftk = mathis_bps(path) / 1e6, pftk_bps(path) / 1e6
    rounds = mathis * rounds_constant(path.loss) / RANDOM_LOSSES
    # N losses leave an uncertainty of 1/(2 sqrt(N)), because goodput is proportional to 1/sqrt(p).
    spread = SIGMAS / 2 / math.sqrt(drops)

    def figure(name: str, theory: float, least: float, most: float, reason: str) -> Figure:
        return Figure(
            effect=f"Reno, {path}: {name}",
            origin="kernel",
            theory=theory,
            measured=goodput,
            least=least,
            most=most,
            unit="Mbit/s",
            reason=f"{reason}, 4 sigma of {drops} losses; {timeouts} timeouts",
        )

    least, most = pftk * (1 - BOOK - spread), mathis * (1 + BOOK + spread)
    within = ROUNDS + spread
    return [
        figure(
            "upper limit, 1.31 MSS/(RTT sqrt p)",
            mathis,
            least,
            most,
            "from PFTK to the 1.31 formula, 10 %",
        ),
        figure("lower limit, PFTK", pftk, least, most, "from PFTK to the 1.31 formula, 10 %"),
        figure(
            "simulation in round trips", rounds, rounds * (1 - within), rounds * (1 + within), "3 %"
        ),
        binomial(
            f"lost packets of the flow, {path}",
            "qdisc",
            path.loss,
            drops,
            drops + grown(queue, "packets"),
        ),
    ]


CASES = tuple(Case(str(path), lambda path=path: reno(path)) for path in PATHS)  # type: ignore[misc]
