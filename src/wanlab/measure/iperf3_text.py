"""Parse the text that iperf3 prints: a line per interval and the two summaries.

    [  5]   0.00-1.00   sec  11.9 MBytes   100 Mbits/sec   12   35.4 KBytes
    [  5]   0.00-10.00  sec   116 MBytes  97.1 Mbits/sec   33             sender

Numbers are rounded as printed (units of 1024 bytes, of 1000 bits: iperf3's src/units.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wanlab.errors import WanlabError

BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
BITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
LINE = re.compile(
    r"\[\s*(?P<stream>\d+|SUM)\]\s+(?P<start>[\d.]+)-(?P<end>[\d.]+)\s+sec\s+"
    r"(?P<bytes>[\d.]+) (?P<bytes_unit>[KMGT]?)Bytes\s+"
    r"(?P<bits>[\d.]+) (?P<bits_unit>[KMGT]?)bits/sec"
    r"(?:\s+(?P<jitter>[\d.]+) ms\s+(?P<lost>-?\d+)/(?P<packets>\d+) \([^)]*\))?"
    r"(?:\s+(?P<retransmits>\d+))?"
    r"(?:\s+(?P<cwnd>[\d.]+) (?P<cwnd_unit>[KMGT]?)Bytes)?"
    r"\s*(?P<role>sender|receiver)?\s*$"
)


@dataclass(frozen=True)
class IntervalReport:
    """One printed line. `role` is empty for an interval."""

    stream: str
    start_s: float
    end_s: float
    bytes: float
    bits_per_second: float
    retransmits: int | None
    cwnd_bytes: float | None
    role: str
    jitter_ms: float | None = None
    lost_packets: int | None = None
    packets: int | None = None
    """Like `jitter_ms` and `lost_packets`, printed by the receiver of UDP."""


def parse(text: str) -> list[IntervalReport]:
    """Return all lines with numbers; raise WanlabError if there are none, or a wrong one."""
    try:
        lines = [_line(match) for raw in text.splitlines() if (match := LINE.match(raw.rstrip()))]
    except ValueError as error:  # another program's: "1.2.3 sec", or thousands of digits
        raise WanlabError(f"the output of iperf3 has a wrong number: {error}") from None
    if not lines:
        last = text.strip().splitlines()[-1:] or ["it printed nothing"]
        raise WanlabError(f"iperf3 measured nothing: {last[0]}")
    return lines


def summary(text: str, role: str, stream: str | None = None) -> IntervalReport:
    """Return the line of the whole test, of the "sender" or the "receiver"."""
    lines = [line for line in parse(text) if line.role == role and stream in (None, line.stream)]
    if not lines:
        raise WanlabError(f"iperf3 printed no line of the {role}: the test did not end")
    return lines[-1]


def _line(match: re.Match[str]) -> IntervalReport:
    return IntervalReport(
        stream=match["stream"],
        start_s=float(match["start"]),
        end_s=float(match["end"]),
        bytes=float(match["bytes"]) * BYTES[match["bytes_unit"]],
        bits_per_second=float(match["bits"]) * BITS[match["bits_unit"]],
        retransmits=None if match["retransmits"] is None else int(match["retransmits"]),
        cwnd_bytes=(
            None if match["cwnd"] is None else float(match["cwnd"]) * BYTES[match["cwnd_unit"]]
        ),
        role=match["role"] or "",
        jitter_ms=None if match["jitter"] is None else float(match["jitter"]),
        lost_packets=None if match["lost"] is None else int(match["lost"]),
        packets=None if match["packets"] is None else int(match["packets"]),
    )
