"""The numbers of one iperf3 test, whether it was printed as text or as JSON.

Numbers from text are rounded as printed. If a server ran several tests, they are those of the last one.
JSON (-J) also has round-trip times and the numbers of each stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wanlab.errors import WanlabError

from . import iperf3, iperf3_text

NAMES_IN_JSON = (("sender", "sent"), ("receiver", "received"))


@dataclass(frozen=True)
class Side:
    """The totals of a test, as the sender or the receiver counted them."""

    seconds: float
    bytes: float
    bits_per_second: float
    retransmits: int | None
    packets: int | None
    lost_packets: int | None
    jitter_ms: float | None


@dataclass(frozen=True)
class Iperf3Summary:
    """One test. Values that its output lacks are None or empty."""

    sides: Mapping[str, Side]
    """By role: "sender", "receiver"."""
    interval_rates_bps: Sequence[float]
    """The rate of each interval, all streams together."""
    windows_bytes: Sequence[float]
    """Congestion windows, of all streams and intervals."""
    round_trip_times_ms: Sequence[float] = ()
    bytes_by_stream: Mapping[int, float] | None = None
    streams: int | None = None
    jitter_ms: float | None = None
    lost_percent: float | None = None

    def side(self, role: str) -> Side:
        if role not in self.sides:
            raise WanlabError(f"iperf3 printed no totals of the {role}")
        return self.sides[role]


def summarize(output: str) -> Iperf3Summary:
    """Summarize the last test in the output of iperf3, as text or JSON."""
    start = output.find("{")
    return _from_json(output[start:]) if start >= 0 else _from_text(output)


def _from_json(text: str) -> Iperf3Summary:
    test = iperf3.parse_all(text[: text.rindex("}") + 1] if "}" in text else text)[-1]
    counted = [interval for interval in test.intervals if not interval.omitted]
    rates: dict[float, float] = {}
    by_stream: dict[int, float] = {}
    for interval in counted:
        rates[interval.start_s] = rates.get(interval.start_s, 0) + interval.bits_per_second
        by_stream[interval.stream] = by_stream.get(interval.stream, 0) + interval.bytes
    received = test.totals.get("received") or next(iter(test.totals.values()), None)
    lost = None
    if received and received.packets:
        lost = (received.lost_packets or 0) / received.packets * 100
    return Iperf3Summary(
        sides={
            role: _side(test.totals[name]) for role, name in NAMES_IN_JSON if name in test.totals
        },
        interval_rates_bps=list(rates.values()),
        windows_bytes=[float(i.snd_cwnd_bytes) for i in counted if i.snd_cwnd_bytes],
        round_trip_times_ms=[i.rtt_us / 1000 for i in counted if i.rtt_us],
        bytes_by_stream=by_stream,
        streams=len(test.streams),
        jitter_ms=received.jitter_ms if received else None,
        lost_percent=lost,
    )


def _from_text(output: str) -> Iperf3Summary:
    lines = iperf3_text.parse(_last_test(output))
    sides: dict[str, Side] = {}
    for role in ("sender", "receiver"):
        of_role = [line for line in lines if line.role == role]
        for line in [line for line in of_role if line.stream == "SUM"] or of_role[-1:]:
            sides[role] = _side_of_line(line)
    intervals = [line for line in lines if not line.role]
    together = [line for line in intervals if line.stream == "SUM"] or intervals
    of_udp = [line for line in lines if line.jitter_ms is not None]
    final = ([line for line in of_udp if line.role == "receiver"] or of_udp)[-1:]
    lost = [100 * (line.lost_packets or 0) / line.packets for line in final if line.packets]
    return Iperf3Summary(
        sides=sides,
        interval_rates_bps=[line.bits_per_second for line in together],
        windows_bytes=[line.cwnd_bytes for line in intervals if line.cwnd_bytes is not None],
        jitter_ms=final[0].jitter_ms if final else None,
        lost_percent=lost[0] if lost else None,
    )


def _side(total: iperf3.Total) -> Side:
    return Side(
        seconds=total.seconds,
        bytes=total.bytes,
        bits_per_second=total.bits_per_second,
        retransmits=total.retransmits,
        packets=total.packets,
        lost_packets=total.lost_packets,
        jitter_ms=total.jitter_ms,
    )


def _side_of_line(line: iperf3_text.IntervalReport) -> Side:
    return Side(
        seconds=line.end_s - line.start_s,
        bytes=line.bytes,
        bits_per_second=line.bits_per_second,
        retransmits=line.retransmits,
        packets=line.packets,
        lost_packets=line.lost_packets,
        jitter_ms=line.jitter_ms,
    )


def _last_test(output: str) -> str:
    """Return the last test that a server printed."""
    tests = output.split("Accepted connection from")
    return tests[-1] if "bits/sec" in tests[-1] else output
