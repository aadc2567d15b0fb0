"""netem's losses, duplicates, corruption and reordering are as frequent as requested.

Independent events are as frequent as a binomial distribution allows. Correlated losses are rarer than
requested: netem loses a packet if r <= p 2^32, and with a correlation rho

    r = (1 - rho) u + rho r'        u new and uniform, r' the r before (get_crandom in sch_netem.c)

so r is closer to the middle than u, and is less often small. The stationary distribution F of r / 2^32
is the fixed point of F(x) = E F((x - (1 - rho) u)/rho), computed here on a grid. F(p) is the fraction
that is lost.
The Gilbert model (`loss gemodel p r`) loses all packets in its bad state: p/(p + r) of all packets, in
bursts of 1/r packets on average.

Corruption changes one bit of the frame. A checksum detects it, or the frame no longer has the receiver's
address. Only a change of the source MAC address (6 bytes) has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from wanlab.plan.shaping import DELAY_LINE_PACKETS

from .figure import SIGMAS, Case, Figure, binomial, near
from .probes import FULL_FRAME_BYTES, network, pair, probe

SEEDS = (1, 2, 3)
PACKETS = 40_000
COUNT = PACKETS * len(SEEDS)
CORRELATION = 0.25
GRID = 20_000
GILBERT = (0.01, 0.2)
SOURCE_MAC_BYTES = 6


@cache
def correlated_distribution(rho: float) -> npt.NDArray[np.float64]:
    """Return F on GRID + 1 points of [0, 1]."""
    x = np.linspace(0, 1, GRID + 1)
    f = x.copy()
    for _ in range(60):
        # (1/w) times the integral of F from (x - w)/rho to x/rho, of a variable u in [0, 1], w = 1 - rho
        area = np.concatenate([[0.0], np.cumsum((f[1:] + f[:-1]) / 2 / GRID)])

        def integral(
            to: npt.NDArray[np.float64], area: npt.NDArray[np.float64] = area
        ) -> npt.NDArray[np.float64]:
            """Return the integral of F from 0 to `to`; F is 1 above 1."""
            inside: npt.NDArray[np.float64] = np.interp(to, x, area) + np.maximum(to - 1, 0)
            return inside

        f = rho / (1 - rho) * (integral(x / rho) - integral((x - (1 - rho)) / rho))
    return f


def correlated_loss(p: float, rho: float) -> float:
    """Return the fraction that netem loses."""
    return float(np.interp(p, np.linspace(0, 1, GRID + 1), correlated_distribution(rho)))


@dataclass(frozen=True)
class Sent:
    """The arrivals of all packets, seed after seed."""

    arrivals: npt.NDArray[np.int64]
    """How often each packet arrived."""
    delays_ns: npt.NDArray[np.int64]

    @property
    def lost(self) -> npt.NDArray[np.bool_]:
        result: npt.NDArray[np.bool_] = self.arrivals == 0
        return result


def send(
    conditions: dict[str, str],
    *,
    payload_bytes: int = 100,
    command: str = "true",
    seeds: Sequence[int] = SEEDS,
) -> Sent:
    """Send packets back to back, after running `command` in h1."""
    runs = []
    for seed in seeds:
        with network(pair(conditions), seed=seed) as net:
            net["h1"].run(command)
            runs.append(probe(net, count=PACKETS, interval_ns=0, payload_bytes=payload_bytes))
    return Sent(
        np.concatenate([np.bincount(run.numbers, minlength=PACKETS) for run in runs]),
        np.concatenate([run.delays_ns for run in runs]),
    )


def loss() -> list[Figure]:
    missing = send({"loss": "1%"}).lost
    return [binomial("loss 1 %", "qdisc", 0.01, int(missing.sum()), COUNT)]


def correlated() -> list[Figure]:
    missing = send({"loss": "10%", "loss_correlation": "25%"}).lost
    theory = correlated_loss(0.10, CORRELATION)
    # Consecutive losses are correlated: as of AR(1), the variance is (1 + rho)/(1 - rho) times larger.
    spread = math.sqrt((1 + CORRELATION) / (1 - CORRELATION) * (1 - theory) / theory / COUNT)
    return [
        near(
            "loss 10 %, correlation 25 %: packets lost",
            "qdisc",
            100 * theory,
            100 * float(missing.mean()),
            unit="%",
            within=SIGMAS * spread,
            reason="4 sigma; the correlation reduces the loss",
        )
    ]


def gilbert(seeds: Sequence[int] = SEEDS) -> list[Figure]:
    p, r = GILBERT
    words = f"netem loss gemodel {100 * p}% {100 * r}% limit {DELAY_LINE_PACKETS}"
    missing = send({}, command=f"tc qdisc add dev h1-eth0 root {words}", seeds=seeds).lost
    bursts = int(missing[0]) + int(np.count_nonzero(missing[1:] & ~missing[:-1]))
    share, length = p / (p + r), 1 / r
    memory = 1 - p - r
    spread = math.sqrt((1 + memory) / (1 - memory) * (1 - share) / share / len(missing))
    return [
        near(
            "loss gemodel 1 % 20 %: packets lost",
            "qdisc",
            100 * share,
            100 * float(missing.mean()),
            unit="%",
            within=SIGMAS * spread,
            reason="4 sigma",
        ),
        near(
            "loss gemodel 1 % 20 %: length of a burst",
            "qdisc",
            length,
            float(missing.sum() / bursts),
            unit="packets",
            within=SIGMAS * math.sqrt((1 - r) / bursts),
            reason="4 sigma",
        ),
    ]


def duplicate() -> list[Figure]:
    sent = send({"duplicate": "2%"})
    assert not sent.lost.any(), "a packet was lost"
    return [binomial("duplicate 2 %", "qdisc", 0.02, int(np.sum(sent.arrivals == 2)), COUNT)]


def corrupt() -> list[Figure]:
    missing = send({"corrupt": "2%"}, payload_bytes=1472).lost
    noticed = 0.02 * (1 - SOURCE_MAC_BYTES / FULL_FRAME_BYTES)
    return [
        binomial("corrupt 2 %: noticed by a checksum", "qdisc", noticed, int(missing.sum()), COUNT)
    ]


def reorder() -> list[Figure]:
    sent = send({"delay": "10ms", "reorder": "25%"})
    assert not sent.lost.any(), "a packet was lost"
    early = int(np.count_nonzero(sent.delays_ns < 5_000_000))
    return [binomial("reorder 25 %: not delayed", "qdisc", 0.25, early, COUNT)]


CASES = (
    Case("loss", loss),
    Case("correlated", correlated),
    Case("gilbert", gilbert),
    Case("duplicate", duplicate),
    Case("corrupt", corrupt),
    Case("reorder", reorder),
)
