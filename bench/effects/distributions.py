"""netem's delays: their distribution and their correlation.

netem draws a 32-bit number r (net/sched/sch_netem.c, tabledist) and computes the delay from it:

    uniform    mu - sigma + r mod 2 sigma
    a table    mu + sigma * t[r mod n] / 8192, where tc sends the table t from NAME.dist

so the theoretical distribution is that of the table, scaled: it has steps of sigma/8192 and no tail
beyond four sigma. A second figure compares it with the distribution that its name promises. The figures
are computed from the delays of 20,000 packets:

    KS        the greatest distance of two distribution functions (Kolmogorov and Smirnov); two
              samples of one distribution differ by more than 1.95/sqrt(N) in 0.1 % of all cases

With a correlation, r is (1 - rho) u + rho r', where u is a new random number and r' is the previous r.
The first autocorrelation of such numbers is rho, and their standard deviation is
sqrt((1 - rho)/(1 + rho)) times that of u. But the modulus keeps only their lowest digits, which are not
correlated: unless 2 sigma is close to 2^32 ns, netem's delays are independent, whatever correlation is
requested.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .figure import SIGMAS, Case, Figure, near
from .probes import network, pair, probe

Floats = npt.NDArray[np.float64]

COUNT, INTERVAL_NS = 20_000, 100_000
DELAY_MS, JITTER_MS = 50.0, 5.0
TABLE_SCALE = 8192  # NETEM_DIST_SCALE
KS_MOST = 1.95 / math.sqrt(COUNT)
CORRELATION = 0.25
# Close to netem's maximum of 2^31 ns, so that the modulus has almost no effect.
LONG_JITTER_MS = 2140.0


def table(name: str) -> Floats:
    """Return the table that tc sends for a distribution, in units of sigma."""
    folders = [Path("/usr/lib/tc"), Path("/usr/share/tc"), *Path("/usr").glob("lib*/*/tc")]
    path = next(f / f"{name}.dist" for f in folders if (f / f"{name}.dist").exists())
    lines = path.read_text(encoding="utf-8").splitlines()
    numbers = [int(word) for line in lines if not line.startswith("#") for word in line.split()]
    return np.asarray(numbers, dtype=float) / TABLE_SCALE


def standardised(conditions: dict[str, str], sigma_ms: float, mean_ms: float, count: int) -> Floats:
    """Return measured delays as multiples of sigma around the mean."""
    with network(pair(conditions)) as net:
        received = probe(net, count=count, interval_ns=INTERVAL_NS, payload_bytes=100)
    assert len(received) == count, "a packet was lost"
    result: Floats = (received.delays_ns / 1e6 - mean_ms) / sigma_ms
    return result


def ks_distance(sample: Floats, atoms: Floats) -> float:
    """Return the KS distance of two samples, or of a sample and a table of equally likely values."""
    at = np.sort(np.concatenate([sample, atoms]))
    steps = [
        np.searchsorted(np.sort(each), at, side="right") / len(each) for each in (sample, atoms)
    ]
    return float(np.max(np.abs(steps[0] - steps[1])))


def ks_distance_to(sample: Floats, cdf: Callable[[Floats], Floats]) -> float:
    """Return the KS distance of a sample and a continuous distribution function."""
    ordered = np.sort(sample)
    expected = cdf(ordered)
    ranks = np.arange(len(ordered) + 1) / len(ordered)
    return float(max(np.max(ranks[1:] - expected), np.max(expected - ranks[:-1])))


def first_autocorrelation(sample: Floats) -> float:
    return float(np.corrcoef(sample[1:], sample[:-1])[0, 1])


def _uniform_cdf(x: Floats) -> Floats:
    return np.clip((x + 1) / 2, 0, 1)


def _normal_cdf(x: Floats) -> Floats:
    return np.array([(1 + math.erf(each / math.sqrt(2))) / 2 for each in x])


def _jitter(distribution: str | None = None, count: int = COUNT) -> Floats:
    conditions = {"delay": f"{DELAY_MS:g}ms", "jitter": f"{JITTER_MS:g}ms"}
    if distribution is not None:
        conditions["distribution"] = distribution
    return standardised(conditions, JITTER_MS, DELAY_MS, count)


def _ks_figure(effect: str, distance: float) -> Figure:
    return Figure(
        effect=effect,
        origin="qdisc",
        theory=0.0,
        measured=distance,
        least=0.0,
        most=KS_MOST,
        reason=f"KS test, significance 0.1 %, {COUNT} packets",
    )


def uniform() -> list[Figure]:
    sample = _jitter()
    return [
        _ks_figure(
            "jitter, uniform: KS distance to a uniform distribution",
            ks_distance_to(sample, _uniform_cdf),
        ),
        near(
            "jitter 5 ms, uniform: standard deviation",
            "qdisc",
            JITTER_MS / math.sqrt(3),
            float(sample.std() * JITTER_MS),
            unit="ms",
            within=SIGMAS * math.sqrt((9 / 5 - 1) / 4 / COUNT),
            reason="4 sigma",
        ),
    ]


def tabled(name: str) -> list[Figure]:
    sample, atoms = _jitter(name), table(name)
    return [
        _ks_figure(f"jitter, {name}: KS distance to netem's table", ks_distance(sample, atoms)),
        _deviation_figure(name, sample, atoms),
    ]


def normal() -> list[Figure]:
    sample = _jitter("normal")
    return [
        _ks_figure(
            "jitter, normal: KS distance to netem's table", ks_distance(sample, table("normal"))
        ),
        _ks_figure(
            "jitter, normal: KS distance to a normal distribution",
            ks_distance_to(sample, _normal_cdf),
        ),
        _deviation_figure("normal", sample, table("normal")),
    ]


def _deviation_figure(name: str, sample: Floats, atoms: Floats) -> Figure:
    """Compare the standard deviation with the table's, which may be less than the requested jitter."""
    centred = atoms - atoms.mean()
    kurtosis = float(np.mean(centred**4) / np.mean(centred**2) ** 2)
    return near(
        f"jitter 5 ms, {name}: standard deviation",
        "qdisc",
        float(atoms.std() * JITTER_MS),
        float(sample.std() * JITTER_MS),
        unit="ms",
        within=SIGMAS * math.sqrt((kurtosis - 1) / 4 / COUNT),
        reason="4 sigma",
    )


def correlation() -> list[Figure]:
    """Compare the correlation with the requested one."""
    short = {"delay": "50ms", "jitter": "5ms", "delay_correlation": "25%"}
    long = {"delay": "3s", "jitter": f"{LONG_JITTER_MS:g}ms", "delay_correlation": "25%"}
    few = standardised(short, JITTER_MS, DELAY_MS, COUNT)
    many = standardised(long, LONG_JITTER_MS, 3000.0, COUNT)
    sigma = 1 / math.sqrt(COUNT)
    return [
        Figure(
            effect="jitter 5 ms, correlation 25 %: first autocorrelation",
            origin="qdisc",
            theory=0.0,
            measured=first_autocorrelation(few),
            least=-SIGMAS * sigma,
            most=SIGMAS * sigma,
            reason="4 sigma; the modulo removes the correlation",
        ),
        near(
            "jitter 2.14 s, correlation 25 %: first autocorrelation",
            "qdisc",
            CORRELATION,
            first_autocorrelation(many),
            within=SIGMAS * sigma * math.sqrt(1 - CORRELATION**2) / CORRELATION,
            reason="4 sigma",
        ),
        near(
            "jitter 2.14 s, correlation 25 %: standard deviation",
            "qdisc",
            LONG_JITTER_MS / math.sqrt(3) * math.sqrt((1 - CORRELATION) / (1 + CORRELATION)) / 1e3,
            float(many.std() * LONG_JITTER_MS / 1e3),
            unit="s",
            within=SIGMAS / math.sqrt(2 * COUNT),
            reason="4 sigma",
        ),
    ]


CASES = (
    Case("uniform", uniform),
    Case("normal", normal),
    Case("pareto", lambda: tabled("pareto")),
    Case("paretonormal", lambda: tabled("paretonormal")),
    Case("correlation", correlation),
)
