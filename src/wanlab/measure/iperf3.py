"""Parse the JSON that `iperf3 -J` prints, of clients and servers, TCP and UDP.

One run has streams (-P), each with a row per interval (-i); with --bidir there are streams in both
directions. The values of a row depend on the side that prints it: only the sender of a TCP stream knows
its window, its RTT and its retransmissions, only the receiver of a UDP stream its losses. Unknown values
are None.

iperf3 reports failures inside its JSON. A run that failed before its first interval is an error
here; one that was ended early keeps its intervals and says so in `error`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import msgspec

from wanlab.errors import WanlabError
from wanlab.record import Table


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One connection of the test; `number` is the number of its socket in iperf3's output."""

    number: int
    local_host: str
    local_port: int
    remote_host: str
    remote_port: int


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One stream in one interval; times count from the start of the test."""

    start_s: float
    end_s: float
    stream: int
    sender: bool
    """Whether the side that printed this is the sender."""
    omitted: bool
    """Whether it belongs to the warm-up (-O) that the totals leave out."""
    bytes: int
    bits_per_second: float
    retransmits: int | None
    snd_cwnd_bytes: int | None
    snd_wnd_bytes: int | None
    rtt_us: int | None
    rttvar_us: int | None
    pmtu_bytes: int | None
    packets: int | None
    lost_packets: int | None
    jitter_ms: float | None


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """The whole test, over all streams of one direction, as one of the two sides counted it."""

    seconds: float
    bytes: int
    bits_per_second: float
    retransmits: int | None = None
    packets: int | None = None
    lost_packets: int | None = None
    jitter_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class Iperf3:
    """One run of iperf3, as seen by the side that printed it."""

    version: str
    protocol: str
    streams: tuple[Stream, ...]
    intervals: tuple[Interval, ...]
    totals: Mapping[str, Total]
    """By iperf3's names: "sent", "received"; with --bidir also "sent_bidir_reverse" and so on."""
    congestion: str | None
    """The sender's congestion control, if iperf3 names it."""
    error: str | None

    @property
    def sent(self) -> Total:
        return self.totals["sent"]

    @property
    def received(self) -> Total:
        return self.totals["received"]

    def table(self, *, start_s: float = 0.0) -> Table:
        """Return the intervals as columns with the names of `Interval`; the test began at `start_s`.

        Columns without any value (such as the window of a UDP stream) are left out.
        """
        rows = [asdict(interval) for interval in self.intervals]
        columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
        for name in ("start_s", "end_s"):
            columns[name] = [start_s + time for time in columns.get(name, [])]
        known = {
            name: values
            for name, values in columns.items()
            if any(value is not None for value in values)
        }
        return Table.of(known, {"bits_per_second": "bit/s"})


# The parts of the JSON that are read.


class _Connected(msgspec.Struct):
    socket: int
    local_host: str
    local_port: int
    remote_host: str
    remote_port: int


class _TestStart(msgspec.Struct):
    protocol: str


class _Start(msgspec.Struct):
    version: str
    connected: list[_Connected]
    test_start: _TestStart | None = None


class _IntervalStream(msgspec.Struct):
    socket: int
    start: float
    end: float
    bytes: int
    bits_per_second: float
    omitted: bool
    sender: bool
    retransmits: int | None = None
    snd_cwnd: int | None = None
    snd_wnd: int | None = None
    rtt: int | None = None
    rttvar: int | None = None
    pmtu: int | None = None
    packets: int | None = None
    lost_packets: int | None = None
    jitter_ms: float | None = None


class _Interval(msgspec.Struct):
    streams: list[_IntervalStream]


class _Document(msgspec.Struct):
    start: _Start
    intervals: list[_Interval]
    end: dict[str, object]
    error: str | None = None


def parse(text: str | bytes) -> Iperf3:
    """Parse the output of one run of `iperf3 -J`; raise WanlabError if it failed."""
    try:
        document = msgspec.json.decode(text, type=_Document)
        totals = {
            name.removeprefix("sum_"): msgspec.convert(total, Total)
            for name, total in document.end.items()
            if name.startswith("sum_")
        }
        congestion = msgspec.convert(document.end.get("sender_tcp_congestion"), str | None)
    except msgspec.DecodeError as error:
        raise WanlabError(
            f"cannot parse the output of iperf3: {error}",
            "it must be one whole JSON document; was iperf3 called with -J?",
        ) from error
    if not document.intervals:
        raise WanlabError(f"iperf3 failed: {document.error or 'it measured no interval'}")
    if document.start.test_start is None:
        raise WanlabError("the output of iperf3 does not say which test it ran")
    return Iperf3(
        version=document.start.version.removeprefix("iperf "),
        protocol=document.start.test_start.protocol,
        streams=tuple(
            Stream(
                number=stream.socket,
                local_host=stream.local_host,
                local_port=stream.local_port,
                remote_host=stream.remote_host,
                remote_port=stream.remote_port,
            )
            for stream in document.start.connected
        ),
        intervals=tuple(
            _interval(stream) for interval in document.intervals for stream in interval.streams
        ),
        totals=totals,
        congestion=congestion,
        error=document.error,
    )


def _interval(stream: _IntervalStream) -> Interval:
    return Interval(
        start_s=stream.start,
        end_s=stream.end,
        stream=stream.socket,
        sender=stream.sender,
        omitted=stream.omitted,
        bytes=stream.bytes,
        bits_per_second=stream.bits_per_second,
        retransmits=stream.retransmits,
        snd_cwnd_bytes=stream.snd_cwnd,
        snd_wnd_bytes=stream.snd_wnd,
        rtt_us=stream.rtt,
        rttvar_us=stream.rttvar,
        pmtu_bytes=stream.pmtu,
        packets=stream.packets,
        lost_packets=stream.lost_packets,
        jitter_ms=stream.jitter_ms,
    )
