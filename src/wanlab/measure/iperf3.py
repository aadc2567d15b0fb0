"""Parse the JSON that iperf3 prints since version 3.0, of clients and servers, TCP and UDP.

`iperf3 -J` prints a document per test: a server's output holds several. With --json-stream, a test is
a line per event.

One run has streams (-P), each with a row per interval (-i); with --bidir there are streams in both
directions. The values of a row depend on the side that prints it: only the sender of a TCP stream knows
its window, its RTT and its retransmissions, only the receiver of a UDP stream its losses. Unknown values
are None.

Before version 3.7, a row does not say whether its side sends; the start of the document does.

iperf3 reports failures inside its JSON. A run that failed before its first interval is an error
here; one that was ended early keeps its intervals and says so in `error`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

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
    began_s: int
    """The second of the side's clock in which it began."""
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
        return self._total("sent")

    @property
    def received(self) -> Total:
        return self._total("received")

    def _total(self, name: str) -> Total:
        if name not in self.totals:
            raise WanlabError(f"iperf3 {self.version} does not say how much was {name}")
        return self.totals[name]

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
    reverse: int = 0


class _Timestamp(msgspec.Struct):
    timesecs: int = 0


class _Start(msgspec.Struct):
    version: str
    connected: list[_Connected]
    timestamp: _Timestamp = msgspec.field(default_factory=_Timestamp)
    test_start: _TestStart | None = None
    connecting_to: dict[str, object] | None = None

    @property
    def sends(self) -> bool:
        """Whether this side sends, unless the intervals say otherwise."""
        is_client = self.connecting_to is not None
        is_reversed = self.test_start is not None and bool(self.test_start.reverse)
        return is_client != is_reversed


class _IntervalStream(msgspec.Struct):
    socket: int
    start: float
    end: float
    bytes: int
    bits_per_second: float
    omitted: bool
    sender: bool | None = None
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
    intervals: list[_Interval] = []
    end: dict[str, object] = {}
    error: str | None = None


def parse(text: str | bytes) -> Iperf3:
    """Parse the output of one run of iperf3; raise WanlabError if it failed."""
    tests = parse_all(text)
    if len(tests) > 1:
        raise WanlabError(
            f"this is the output of {len(tests)} runs of iperf3", "parse_all() reads all of them"
        )
    return tests[0]


def parse_all(text: str | bytes) -> Sequence[Iperf3]:
    """Parse the output of one or more runs of iperf3, without those that measured nothing.

    Raises WanlabError if none has measured anything.
    """
    try:
        documents = [_decode(document) for document in _documents(text)]
        if not documents:
            raise ValueError("it is empty")
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise WanlabError(
            f"cannot parse the output of iperf3: {error}",
            "it must be whole JSON documents; was iperf3 called with -J?",
        ) from error
    tests = [_test(*document) for document in documents if document[0].intervals]
    if not tests:
        errors = [document.error for document, *_ in documents if document.error]
        raise WanlabError(f"iperf3 failed: {(errors or ['it measured no interval'])[0]}")
    return tests


def joined(tests: Sequence[Iperf3]) -> Iperf3:
    """Return tests on the time axis of the first, with their streams numbered from 1."""
    if len(tests) == 1:
        return tests[0]
    numbers: dict[tuple[int, int], int] = {}
    intervals = []
    for at, test in enumerate(tests):
        later_s = float(test.began_s - tests[0].began_s)
        for interval in test.intervals:
            number = numbers.setdefault((at, interval.stream), len(numbers) + 1)
            begin_s, end_s = interval.start_s + later_s, interval.end_s + later_s
            intervals.append(replace(interval, stream=number, start_s=begin_s, end_s=end_s))
    streams = tuple(
        replace(stream, number=numbers[at, stream.number])
        for at, test in enumerate(tests)
        for stream in test.streams
        if (at, stream.number) in numbers
    )
    errors = [test.error for test in tests if test.error]
    return replace(
        tests[0],
        streams=streams,
        intervals=tuple(intervals),
        totals={},
        error=errors[0] if errors else None,
    )


_NOT_BLANK = re.compile(r"\S")


def _documents(text: str | bytes) -> Iterator[dict[str, Any]]:
    """Yield the document of each test; the events of --json-stream are put together to one."""
    if isinstance(text, bytes):
        text = text.decode()
    decoder, at, events = json.JSONDecoder(parse_constant=_refuse), 0, dict[str, Any]()
    while begin := _NOT_BLANK.search(text, at):
        found, at = decoder.raw_decode(text, begin.start())
        if not isinstance(found, dict) or "event" not in found:
            yield found
            continue
        event, data = found["event"], found.get("data")
        if event == "start" and events:
            yield events
            events = {}
        if event == "interval":
            events.setdefault("intervals", []).append(data)
        else:
            events[event] = data
    if events:
        yield events


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _decode(document: object) -> tuple[_Document, Mapping[str, Total], str | None]:
    """Return a document, its totals, and the sender's congestion control."""
    decoded = msgspec.convert(document, _Document)
    totals = {
        name.removeprefix("sum_"): msgspec.convert(total, Total)
        for name, total in decoded.end.items()
        if name.startswith("sum_")
    }
    return decoded, totals, msgspec.convert(decoded.end.get("sender_tcp_congestion"), str | None)


def _test(document: _Document, totals: Mapping[str, Total], congestion: str | None) -> Iperf3:
    start = document.start
    if start.test_start is None:
        raise WanlabError("the output of iperf3 does not say which test it ran")
    return Iperf3(
        version=start.version.removeprefix("iperf "),
        began_s=start.timestamp.timesecs,
        protocol=start.test_start.protocol,
        streams=tuple(
            Stream(
                number=stream.socket,
                local_host=stream.local_host,
                local_port=stream.local_port,
                remote_host=stream.remote_host,
                remote_port=stream.remote_port,
            )
            for stream in start.connected
        ),
        intervals=tuple(
            _interval(stream, start.sends)
            for interval in document.intervals
            for stream in interval.streams
        ),
        totals=totals,
        congestion=congestion,
        error=document.error,
    )


def _interval(stream: _IntervalStream, sends: bool) -> Interval:
    return Interval(
        start_s=stream.start,
        end_s=stream.end,
        stream=stream.socket,
        sender=sends if stream.sender is None else stream.sender,
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
