"""Packets on the links of a running network, as the canvas draws them in slow motion.

A packet is in the queue of a port from when it is queued there until it is sent, on the link until it
has been received at the other end, or it was dropped. Its flow is known once it leaves its first
queue. Until then it counts to the flow of the last packet of its size at that port.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from wanlab import Network, Sampling
from wanlab.errors import WanlabError
from wanlab.measure.packet_events import RARELY_NS, PacketEvent, PacketEvents
from wanlab.measure.packet_headers import PacketHeaders, PassedPacket

from ..protocol.messages import LivePort, PacketsPush, TracedPacket
from .packet_decode import DecodedPacket, decode

MAX_SENT = 600
"""The packets in one message; more could not be distinguished on the canvas."""
MAX_KNOWN = 4096


@dataclass(frozen=True)
class PortPosition:
    """Where a port is, and the name of the port at the other end of its link."""

    port: LivePort
    peer: str


class FlightTracker:
    """Turns events into packets on links: decides, and reads nothing."""

    def __init__(self, ports: Sequence[LivePort]) -> None:
        ends = {(port.link, port.end): port for port in ports}
        other = {"a": "b", "b": "a"}
        self._positions = {
            port.name: PortPosition(port, ends[(port.link, other[port.end])].name)  # type: ignore[index]
            for port in ports
            if (port.link, other[port.end]) in ends
        }
        self._names = {(at.port.link, at.port.end): name for name, at in self._positions.items()}
        self._count = 0
        self._flying: dict[int, TracedPacket] = {}
        self._flows: dict[int, tuple[str, DecodedPacket]] = {}
        """By address: the node where a packet was last seen, and its header."""
        self._last_at: dict[tuple[str, int], DecodedPacket] = {}
        self._changed: dict[int, TracedPacket] = {}
        self._gone: list[int] = []
        self._reported: set[int] = set()
        """The packets that browsers know and whose end they do not."""

    def note_header(self, address: int, port: str, size: int, header: DecodedPacket) -> None:
        """Note the header of a packet that leaves or reaches a port."""
        if len(self._flows) >= MAX_KNOWN:
            del self._flows[next(iter(self._flows))]
        if (position := self._positions.get(port)) is not None:
            self._flows[address] = (position.port.node, header)
        self._last_at[(port, size)] = header
        flying = self._flying.get(address)
        if flying is not None and flying.info != _words(header):
            self._last_at[(self._name_of(flying), size)] = header
            self._put(address, _named(flying, header))

    def note(self, event: PacketEvent) -> None:
        """Note what happened to a packet."""
        position = self._positions.get(event.port)
        if position is None:
            return
        flying = self._flying.get(event.address)
        if event.kind == "queued":
            self._begin(event, position, sent_ns=None)
        elif event.kind == "sent":
            if flying is None or flying.sent_ns is not None or self._name_of(flying) != event.port:
                self._begin(event, position, sent_ns=event.time_ns)
            else:
                self._put(event.address, msgspec.structs.replace(flying, sent_ns=event.time_ns))
        elif flying is not None:
            if event.kind == "dropped":
                ended = msgspec.structs.replace(
                    flying, dropped_ns=event.time_ns, reason=event.reason
                )
            elif self._name_of(flying) == position.peer:
                ended = msgspec.structs.replace(flying, received_ns=event.time_ns)
            else:
                return
            self._put(event.address, ended)
            del self._flying[event.address]
            if event.kind == "dropped":
                self._flows.pop(event.address, None)

    def _begin(self, event: PacketEvent, position: PortPosition, sent_ns: int | None) -> None:
        if (lost := self._flying.pop(event.address, None)) is not None:
            self._changed.pop(lost.number, None)
            self._gone.append(lost.number)
        # Another node may use the address of a packet that has ended for a packet of its own.
        node, header = self._flows.get(event.address, ("", None))
        if header is None or node != position.port.node:
            header = self._last_at.get((event.port, event.size_bytes))
        self._count += 1
        packet = TracedPacket(
            number=self._count,
            link=position.port.link,
            end=position.port.end,
            bytes=event.size_bytes,
            queued_ns=event.time_ns,
            sent_ns=sent_ns,
        )
        self._put(event.address, packet if header is None else _named(packet, header))

    def _put(self, address: int, packet: TracedPacket) -> None:
        self._flying[address] = self._changed[packet.number] = packet

    def _name_of(self, packet: TracedPacket) -> str:
        return self._names[(packet.link, packet.end)]

    def changed(self) -> PacketsPush | None:
        """Return the packets that have changed since the last call.

        If they are too many, new packets are left out, but no change of a packet that was reported.
        """
        gone = tuple(number for number in self._gone if number in self._reported)
        self._gone.clear()
        if not self._changed and not gone:
            return None
        packets = list(self._changed.values())
        self._changed.clear()
        step = -(-len(packets) // MAX_SENT)
        chosen = [
            packet
            for packet in packets
            if packet.number in self._reported or packet.number % step == 0
        ]
        self._reported -= set(gone)
        for packet in chosen:
            is_over = packet.dropped_ns is not None or packet.received_ns is not None
            (self._reported.discard if is_over else self._reported.add)(packet.number)
        return PacketsPush(packets=tuple(chosen), left_out=len(packets) - len(chosen), gone=gone)


def _named(packet: TracedPacket, header: DecodedPacket) -> TracedPacket:
    return msgspec.structs.replace(
        packet,
        flow=header.flow,
        protocol=header.protocol,
        info=_words(header),
        is_data=header.payload_bytes > 0,
    )


def _words(header: DecodedPacket) -> str:
    return f"{header.source} → {header.destination} {header.protocol} {header.info}"


class PacketFlights:
    """Follows the packets of a network. Lives in the network's thread; no time passes in its calls."""

    def __init__(self, network: Network, ports: Sequence[LivePort]) -> None:
        self._tracker = FlightTracker(ports)
        links: dict[str, list[str]] = {}
        for port in ports:
            links.setdefault(port.link, []).append(port.name)
        pairs = [(names[0], names[1]) for names in links.values() if len(names) == 2]
        self._events = PacketEvents([name for pair in pairs for name in pair])
        self._headers = PacketHeaders(pairs)
        self._network = network
        self._sampling = Sampling(network, [self._events, self._headers], every=RARELY_NS)
        self._sampling.begin()

    def collect(self) -> PacketsPush | None:
        """Return the events since the last call."""
        self._sampling.sample()
        began_ns = self._sampling.began_ns
        headers: dict[tuple[int, str, bool], deque[PassedPacket]] = {}
        for header in self._headers.drain():
            key = (header.time_ns, header.port, header.is_outgoing)
            headers.setdefault(key, deque()).append(header)
        for event in self._events.drain():
            passed = headers.get((event.time_ns, event.port, event.kind == "sent"))
            if passed and event.kind in ("sent", "received"):
                packet = passed.popleft()
                decoded = decode(packet.data, packet.length)
                self._tracker.note_header(event.address, event.port, event.size_bytes, decoded)
            self._tracker.note(replace(event, time_ns=event.time_ns + began_ns))
        return self._tracker.changed()

    def end(self) -> None:
        """Stop following."""
        with contextlib.suppress(WanlabError):
            self._sampling.end()
