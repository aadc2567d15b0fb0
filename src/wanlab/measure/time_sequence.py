"""What a TCP flow sent and what came back, for a time-sequence graph (Stevens; tcptrace; Wireshark).

    bytes |            / window        what the receiver allows
          |       |  | '               segments: from the first to the last byte that each carries
          |    |  |  _|                retransmissions lie below newer segments
          | |  | ____/  acknowledged   the cumulative acknowledgement, and SACK blocks above it
          +----------------------- time

The packets are those of a capture at the sender, or anywhere on the path. If the capture also has the
port at which they arrive (`Capture("h1-eth0", "h2-eth0")`), it is known which segments were lost;
otherwise only which ones were sent again. Numbers of bytes count from the first byte of data (RFC
9293), windows are scaled (RFC 7323), SACK blocks as in RFC 2018.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from wanlab.capture_file import CapturedPacket, address_text, start_of_ip
from wanlab.errors import WanlabError

MAX_SEGMENTS = 50_000
MAX_SEGMENT_BYTES = 1 << 16
"""With GSO, a captured packet carries at most so much."""
_TCP = 6
_TCP_HEADER = struct.Struct("!HHIIBBH")
_FIN, _SYN, _ACK = 1, 2, 16
_END, _PADDING, _SCALE, _SACK = 0, 1, 3, 5
_EXTENSIONS = (0, 43, 60)  # hop-by-hop, routing and destination options (RFC 8200)
_HALF, _WHOLE = 1 << 31, 1 << 32
_MAX_SCALE = 14  # RFC 7323, 2.3

Kind = Literal["new", "again", "late"]
Fate = Literal["", "arrived", "lost", "resent"]
_NEW: Kind = "new"
_AGAIN: Kind = "again"
_LATE: Kind = "late"


class TcpSegment(NamedTuple):
    """Bytes that the sender sent: from `start` to before `end`.

    kind   "new"; "again" if some of them were sent before; "late" if they come after newer ones, but
           were not seen before: they were lost before the port of the capture, or overtaken
    fate   what became of it: "arrived" or "lost" if both ends were captured; otherwise "resent" if
           some of its bytes were sent again later
    """

    number: int
    """The number of its packet in the file."""
    time_ns: int
    start: int
    end: int
    kind: Kind
    fate: Fate = ""


class Acknowledgement(NamedTuple):
    """What the receiver said: all bytes before `ack` have arrived, and those of the SACK blocks.

    window_end     the first byte that must not be sent yet; None if the window's scale is unknown
    is_duplicate   whether it repeats the last acknowledgement and carries no data (RFC 5681, 2)
    """

    number: int
    time_ns: int
    ack: int
    window_end: int | None
    sacks: tuple[tuple[int, int], ...]
    is_duplicate: bool


@dataclass(frozen=True)
class TimeSequence:
    """One direction of a TCP flow: "10.0.0.1:40000 > 10.0.0.2:5201"."""

    flow: str
    segments: Sequence[TcpSegment]
    acknowledgements: Sequence[Acknowledgement]
    is_cut: bool = False
    """Whether the capture has more segments than `MAX_SEGMENTS`."""

    def lost(self) -> list[TcpSegment]:
        """Return the segments that were lost, as far as is known.

        Without a capture at the receiver, they are those that were sent again. A segment that was lost
        before the port of the capture is known by its first copy that was seen.
        """
        return [
            one for one in self.segments if one.fate in ("lost", "resent") or one.kind == "late"
        ]


class _Seen(NamedTuple):
    """A TCP segment as it was seen at a point of the path."""

    number: int
    time_ns: int
    at: tuple[str, str]
    """Port and direction."""
    source: str
    destination: str
    sequence: int
    ack: int
    flags: int
    window: int
    bytes: int
    scale: int | None
    sacks: tuple[tuple[int, int], ...]


class TcpPackets:
    """The TCP segments of a capture, in order of time. `name` is that of its file, for errors."""

    def __init__(self, packets: Iterable[CapturedPacket], name: str) -> None:
        self._name = name
        parsed = (_parsed(packet, name) for packet in packets)
        self._seen = sorted((one for one in parsed if one is not None), key=lambda one: one.time_ns)

    def flows(self) -> list[str]:
        """Return the directions that carry data, as "10.0.0.1:40000 > 10.0.0.2:5201", most bytes
        first."""
        sizes: Counter[str] = Counter()
        for one in self._seen:
            if one.bytes:
                sizes[f"{one.source} > {one.destination}"] += one.bytes
        return [flow for flow, _ in sizes.most_common()]

    def sequence(self, flow: str = "") -> TimeSequence:
        """Return what a flow sent and what came back; by default, of the flow with the most bytes.

        If only the other direction carries data, it is that one.

        WanlabError if the capture has no data of this flow.
        """
        if not flow and not (flow := next(iter(self.flows()), "")):
            raise WanlabError(f"{self._name} has no TCP flow that carries data")
        sender, _, receiver = flow.partition(" > ")
        ours = [one for one in self._seen if (one.source, one.destination) == (sender, receiver)]
        theirs = [one for one in self._seen if (one.source, one.destination) == (receiver, sender)]
        if not any(one.bytes for one in ours) and any(one.bytes for one in theirs):
            return self.sequence(f"{receiver} > {sender}")
        if not any(one.bytes for one in ours):
            raise WanlabError(
                f"{self._name} has no data of {flow}", "was it captured on the path of the flow?"
            )
        near, far = _points(ours)
        first = _first_byte(ours, theirs)
        segments, is_cut = _segments([one for one in ours if one.at == near], first)
        if far is not None:
            arrived = [one for one in ours if one.at == far]
            segments = _with_arrivals(segments, arrived, first)
        answers = [one for one in theirs if one.at[0] == near[0]]
        until_ns = segments[-1].time_ns if is_cut else None
        acks = _acknowledgements(answers, first, _scale(ours, theirs), until_ns)
        return TimeSequence(flow, segments, acks, is_cut)


def _points(ours: Sequence[_Seen]) -> tuple[tuple[str, str], tuple[str, str] | None]:
    """Return where the sender's packets were seen first and, at another port, where they arrived."""
    points = list(dict.fromkeys(one.at for one in ours))
    near, last = points[0], points[-1]
    return near, last if last[0] != near[0] and last[1] == "in" else None


class _Positions:
    """Turns sequence numbers, which begin again at 0 after 4 GiB, into positions in the data."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._newest = 0

    def near(self, sequence: int, position: int) -> int:
        """Return the position of a sequence number that is within 2 GiB of another position."""
        return position + (sequence - self._first - position + _HALF) % _WHOLE - _HALF

    def __call__(self, sequence: int) -> int:
        """Return the position of a sequence number, which is within 2 GiB of the newest one."""
        position = self.near(sequence, self._newest)
        self._newest = max(self._newest, position)
        return position


def _first_byte(ours: Sequence[_Seen], theirs: Sequence[_Seen]) -> int:
    """Return the sequence number of the first byte of data, as far as it was captured."""
    for one in ours:
        if one.flags & _SYN:
            return (one.sequence + 1) % _WHOLE
    for one in ours:
        if one.bytes:
            # An acknowledgement of earlier bytes may have been captured before it.
            early = [a.ack for a in theirs if a.time_ns <= one.time_ns and a.flags & _ACK]
            behind = [(one.sequence - ack) % _WHOLE for ack in early]
            return (
                one.sequence - max((step for step in behind if step < _HALF), default=0)
            ) % _WHOLE
    return ours[0].sequence


def _segments(sent: Sequence[_Seen], first: int) -> tuple[list[TcpSegment], bool]:
    """Return the segments, with "resent" as the fate of those of which a part was sent again."""
    position, newest = _Positions(first), 0
    segments: list[TcpSegment] = []
    by_start: list[tuple[int, int]] = []
    resent: set[int] = set()
    is_cut = False
    for one in sent:
        if not one.bytes or one.flags & _SYN:
            continue
        if len(segments) == MAX_SEGMENTS:
            is_cut = True
            break
        start = position(one.sequence)
        end, kind = start + one.bytes, _NEW
        if start < newest:
            low = bisect_left(by_start, (start - MAX_SEGMENT_BYTES, 0))
            near = by_start[low : bisect_left(by_start, (end, 0))]
            same = [index for _, index in near if segments[index].end > start]
            resent.update(same)
            kind = _AGAIN if same else _LATE
        insort(by_start, (start, len(segments)))
        segments.append(TcpSegment(one.number, one.time_ns, start, end, kind))
        newest = max(newest, end)
    for index in resent:
        segments[index] = segments[index]._replace(fate="resent")
    return segments, is_cut


class _Sent:
    """A segment, and which of its bytes have arrived."""

    def __init__(self, segment: TcpSegment) -> None:
        self.segment = segment
        self.arrived: list[tuple[int, int]] = []

    def lacks(self, position: int) -> bool:
        """Return whether the segment carries a byte that has not arrived."""
        if not self.segment.start <= position < self.segment.end:
            return False
        return all(not start <= position < end for start, end in self.arrived)

    def pieces(self, missing: Fate) -> Iterator[TcpSegment]:
        """Yield the parts that arrived and those that did not: GSO sends several packets as one."""
        position = self.segment.start
        for start, end in sorted(self.arrived):
            if start > position:
                yield self.segment._replace(start=position, end=start, fate=missing)
            yield self.segment._replace(start=start, end=end, fate="arrived")
            position = end
        if position < self.segment.end:
            yield self.segment._replace(start=position, fate=missing)


def _with_arrivals(
    segments: Sequence[TcpSegment], arrived: Sequence[_Seen], first: int
) -> list[TcpSegment]:
    """Return the segments with their fate, those of which a part was lost in parts.

    Bytes that arrive are those of the latest segment that carries them and lacks them. What has not
    arrived by the end may still be on its way.
    """
    position = _Positions(first)
    all_sent = [_Sent(segment) for segment in segments]
    by_start: list[tuple[int, int]] = []
    known, arrived_sent_ns = 0, 0
    for one in arrived:
        if not one.bytes or one.flags & _SYN:
            continue
        while known < len(segments) and segments[known].time_ns <= one.time_ns:
            insort(by_start, (segments[known].start, known))
            known += 1
        start = position(one.sequence)
        end = start + one.bytes
        while start < end and (sent := _carrier(start, all_sent, by_start)) is not None:
            until = min(end, sent.segment.end)
            sent.arrived.append((start, until))
            start = until
            arrived_sent_ns = max(arrived_sent_ns, sent.segment.time_ns)
    return [
        piece
        for sent in all_sent
        for piece in sent.pieces("lost" if sent.segment.time_ns <= arrived_sent_ns else "")
    ]


def _carrier(
    position: int, all_sent: Sequence[_Sent], by_start: Sequence[tuple[int, int]]
) -> _Sent | None:
    """Return the latest segment that carries a byte and lacks it."""
    found = -1
    for row in range(bisect_left(by_start, (position + 1, 0)) - 1, -1, -1):
        start, index = by_start[row]
        is_carrier = all_sent[index].lacks(position)
        if start <= position - MAX_SEGMENT_BYTES or (found >= 0 and not is_carrier):
            break
        if is_carrier:
            found = max(found, index)
    return all_sent[found] if found >= 0 else None


def _scale(ours: Sequence[_Seen], theirs: Sequence[_Seen]) -> int | None:
    """Return the shift of the receiver's window; None if the handshake was not captured.

    It counts only if both ends have sent it (RFC 7323, 2.2).
    """
    offered = [next((one for one in end if one.flags & _SYN), None) for end in (ours, theirs)]
    if offered[0] is None or offered[1] is None:
        return None
    if offered[0].scale is None or offered[1].scale is None:
        return 0
    return offered[1].scale


def _acknowledgements(
    answers: Sequence[_Seen], first: int, scale: int | None, until_ns: int | None
) -> list[Acknowledgement]:
    position, found = _Positions(first), list[Acknowledgement]()
    last: tuple[int, int] | None = None
    for one in answers:
        if not one.flags & _ACK:
            continue
        if until_ns is not None and one.time_ns > until_ns:
            break
        ack = position(one.ack)
        window = None if scale is None else one.window << (0 if one.flags & _SYN else scale)
        is_pure = not one.bytes and not one.flags & (_SYN | _FIN)
        lefts = [(position.near(left, ack), (right - left) % _WHOLE) for left, right in one.sacks]
        found.append(
            Acknowledgement(
                one.number,
                one.time_ns,
                ack,
                None if window is None else ack + window,
                tuple((left, left + size) for left, size in lefts),
                is_pure and last == (ack, one.window),
            )
        )
        last = (ack, one.window)
    return found


# -- packets --------------------------------------------------------------------------------------


def _parsed(packet: CapturedPacket, name: str) -> _Seen | None:
    """Return the TCP segment in a packet; None if it carries something else, or too little of it."""
    start = start_of_ip(packet, name)
    if start is None:
        return None
    try:
        return _in_ip(packet, start)
    except (struct.error, IndexError):
        return None


def _in_ip(packet: CapturedPacket, start: int) -> _Seen | None:
    data = packet.data
    if data[start] >> 4 == 6:
        size, protocol = struct.unpack_from("!HB", data, start + 4)
        source, destination = data[start + 8 : start + 24], data[start + 24 : start + 40]
        size = size or packet.length - start - 40  # 0 if it is larger than the field
        at = start + 40
        while protocol in _EXTENSIONS:
            protocol, length = data[at], 8 * (data[at + 1] + 1)
            at, size = at + length, size - length
    else:
        at = start + 4 * (data[start] & 15)
        protocol = data[start + 9]
        (size,) = struct.unpack_from("!H", data, start + 2)
        size = (size or packet.length - start) - (at - start)
        source, destination = data[start + 12 : start + 16], data[start + 16 : start + 20]
    if protocol != _TCP:
        return None
    return _in_tcp(packet, at, size, source, destination)


def _in_tcp(packet: CapturedPacket, at: int, size: int, source: bytes, destination: bytes) -> _Seen:
    ours, theirs, sequence, ack, offset, flags, window = _TCP_HEADER.unpack_from(packet.data, at)
    header = 4 * (offset >> 4)
    options = _Options.of(packet.data[at + 20 : at + header])
    return _Seen(
        packet.number,
        packet.time_ns,
        (packet.port, packet.direction),
        _end(source, ours),
        _end(destination, theirs),
        sequence,
        ack,
        flags,
        window,
        size - header,
        options.scale,
        tuple(options.sacks),
    )


def _end(address: bytes, port: int) -> str:
    text = address_text(address)
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


@dataclass
class _Options:
    """The options of a TCP header that concern the window and what has arrived."""

    scale: int | None = None
    sacks: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, data: bytes) -> _Options:
        found, at = cls(), 0
        while at < len(data) and data[at] != _END:
            if data[at] == _PADDING:
                at += 1
                continue
            kind, length = data[at], data[at + 1]
            if length < 2:
                break
            value = data[at + 2 : at + length]
            if kind == _SCALE and len(value) == 1:
                found.scale = min(value[0], _MAX_SCALE)
            elif kind == _SACK:
                found.sacks += struct.iter_unpack("!II", value[: len(value) // 8 * 8])
            at += length
        return found
