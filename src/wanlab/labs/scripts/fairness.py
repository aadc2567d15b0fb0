"""fairness.sh: Jain's fairness index of the streams of an iperf3 run.

    I = (sum of T_i)^2 / (n * sum of T_i^2)

T_i is the throughput of stream i. The index is 1 if all streams are equal, and 1/n if one carries
everything (R. Jain, D.-M. Chiu, W. Hawe: A quantitative measure of fairness and discrimination for
resource allocation in shared computer systems, 1984). The T_i are fractions of whole bytes, so the
result is exact. It is cut after five decimals, without a zero before the point, as bc prints it in
the course: .91395.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from wanlab import iperf3
from wanlab.errors import WanlabError

from . import Usage, iperf3_file, run

USAGE = """usage: fairness.sh FILE.json...

Prints Jain's index over the streams of a run of `iperf3 -c SERVER -P N -J > FILE.json`, or over all
the streams of several files, of senders that ran at the same time."""

DECIMALS = 5


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        raise Usage("which file?")
    rates = [rate for name in arguments for rate in rates_of(name)]
    print(as_bc(index(rates)))
    return 0


def index(rates: Sequence[Fraction]) -> Fraction:
    """Return Jain's index of rates, which must not all be zero."""
    whole = sum(rates, Fraction(0))
    return whole * whole / (len(rates) * sum((rate * rate for rate in rates), Fraction(0)))


def rates_of(name: str) -> list[Fraction]:
    """Return the throughput of each stream of a file, in bytes per second, without the warm-up (-O)."""
    measured = iperf3_file.read(name)
    if len(directions(measured)) > 1:
        raise WanlabError(
            f"{name} is a test in both directions, which do not share one path",
            "run one for each direction",
        )
    rates = []
    for stream in dict.fromkeys(interval.stream for interval in measured.intervals):
        counted = [i for i in measured.intervals if i.stream == stream and not i.omitted]
        seconds = sum((Fraction(i.end_s) - Fraction(i.start_s) for i in counted), Fraction(0))
        if seconds > 0:
            # iperf3 rounds times to 1 ms; without this, equal streams would differ.
            rates.append(Fraction(sum(i.bytes for i in counted)) / round(seconds, 3))
    if not any(rates):
        raise WanlabError(f"{name}: no stream carried anything, so there is no index")
    return rates


def directions(measured: iperf3.Iperf3) -> set[bool]:
    return {interval.sender for interval in measured.intervals}


def as_bc(value: Fraction) -> str:
    """Format a value as bc does at this scale: cut off, and without a zero before the point."""
    digits = value.numerator * 10**DECIMALS // value.denominator
    whole, part = divmod(digits, 10**DECIMALS)
    return f"{whole or ''}.{part:0{DECIMALS}}"


if __name__ == "__main__":
    run("fairness.sh", USAGE, main)
