"""Captures the headers of packets on the links of a network, to describe the packets of a trace.

One ring for each namespace holds the packets of all its interfaces. For a link, one of its ends is
enough, because packets are captured there in both directions.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from wanlab.network import Network
from wanlab.record import Table

from .readings import Beginning, Reading, Source, Stream, interface_numbers

HEADER_BYTES = 128
RING_BYTES = 4 << 20
MAX_NAMESPACES = 40
"""Each needs a ring in the machine's memory."""
MAX_KEPT = 20_000

# struct tpacket3_hdr, and the struct sockaddr_ll behind it (see `captures`).
_PACKET = struct.Struct("=IIIIIIH")
_INTERFACE_AT, _KIND_AT = 48 + 4, 48 + 10
_OUTGOING = 4


@dataclass(frozen=True)
class PassedPacket:
    """The beginning of a packet that passed a port at an instant of the samplings' clock."""

    time_ns: int
    port: str
    is_outgoing: bool
    length: int
    data: bytes


class PacketHeaders:
    """A sampler that keeps the beginnings of packets; `drain` returns those since the last call."""

    def __init__(self, links: Sequence[tuple[str, str]]) -> None:
        self._links = links
        self._devices: dict[str, dict[int, str]] = {}
        self._boot_ns = 0
        self._shift_ns = 0
        self._new: list[PassedPacket] = []

    def prepare(self, network: Network) -> None:
        """Choose an end of each link, those in the namespace with the most ends first."""
        ends: dict[str, list[str]] = {}
        for link in self._links:
            for port in link:
                ends.setdefault(network.namespace_of(network.port(port)), []).append(port)
        other = {port: end for a, b in self._links for port, end in ((a, b), (b, a))}
        chosen: list[str] = []
        for namespace in sorted(ends, key=lambda name: -len(ends[name]))[:MAX_NAMESPACES]:
            chosen += [port for port in ends[namespace] if other[port] not in chosen]
        self._devices = interface_numbers(network, chosen)
        (stat,) = network.read([["file", "", "/proc/stat"]])
        self._boot_ns = 10**9 * next(
            int(line.split()[1]) for line in stat.decode().splitlines() if "btime" in line
        )

    def sources(self) -> Sequence[Source]:
        return []

    def streams(self) -> Sequence[Stream]:
        return [
            {
                "what": "packets",
                "node": node,
                "interface": "",  # all of them
                "snaplen": HEADER_BYTES,
                "ring_bytes": RING_BYTES,
                "program": [],
                "max_bytes": 1 << 40,
            }
            for node in self._devices
        ]

    def began(self, beginning: Beginning) -> None:
        self._shift_ns = beginning.time_ns - beginning.clock_ns - self._boot_ns

    def take(self, reading: Reading) -> None:
        devices = list(self._devices.values())[reading.place]
        data, position = reading.data, 0
        while position < len(data):
            following, seconds, rest_ns, captured, length, _, begin = _PACKET.unpack_from(
                data, position
            )
            (number,) = struct.unpack_from("=i", data, position + _INTERFACE_AT)
            if (port := devices.get(number)) is not None and len(self._new) < MAX_KEPT:
                time_ns = seconds * 10**9 + rest_ns + self._shift_ns
                is_outgoing = data[position + _KIND_AT] == _OUTGOING
                start = position + begin
                passed = PassedPacket(
                    time_ns, port, is_outgoing, length, data[start : start + captured]
                )
                self._new.append(passed)
            position += following or (begin + captured + 7) & ~7

    def drain(self) -> list[PassedPacket]:
        """Return the packets since the last call."""
        new, self._new = self._new, []
        return new

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        return []  # lost packets only lack a description on the canvas

    def tables(self) -> dict[str, Table]:
        return {}
