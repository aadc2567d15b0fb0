"""List the packets of a capture file for the page.

Reads pcapng (draft-ietf-opsawg-pcapng) as `Capture` and Wireshark write it, and the older pcap of
`tcpdump -w`. Times are on the network's clock if the file says when that was 0, and otherwise since
the first packet.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wanlab.errors import WanlabError

from .packet_decode import DecodedPacket, decode
from .protocol import ListedPacket, PacketDetails, PacketPage

MAX_SCANNED = 100_000
MAX_LISTED = 1000
MAX_SHOWN_BYTES = 2048
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_NAME, _RESOLUTION, _FLAGS = 2, 9, 2
_BIG = b"\x1a\x2b\x3c\x4d"
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_ZERO = re.compile(rb"which was 0 at (\d+)\.(\d{9}) s")


@dataclass(frozen=True)
class CapturedPacket:
    """A packet of a file. `time_ns` is since 1970."""

    number: int
    time_ns: int
    port: str
    direction: str
    length: int
    data: bytes


@dataclass
class _Section:
    order: str = "<"
    names: list[str] = field(default_factory=list)
    ticks_per_s: list[int] = field(default_factory=list)


class CaptureFileReader:
    """Reads the packets of a file one after the other; `zero_ns` is known once one has been read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.zero_ns: int | None = None

    def packets(self) -> Iterator[CapturedPacket]:
        """Yield all packets. WanlabError if the file is no capture."""
        with self._path.open("rb") as file:
            if not self._path.stat().st_size:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                kind = data[:4]
                if kind in _PCAP:
                    yield from self._pcap(data, *_PCAP[kind])
                elif kind == struct.pack("<I", _SECTION):
                    yield from self._pcapng(data)
                else:
                    raise WanlabError(f"{self._path.name} is not a packet capture (pcap or pcapng)")

    def _pcap(self, data: mmap.mmap, order: str, unit_ns: int) -> Iterator[CapturedPacket]:
        header, position, number = struct.Struct(f"{order}IIII"), 24, 0
        while position + header.size <= len(data):
            seconds, rest, captured, length = header.unpack_from(data, position)
            position += header.size
            number += 1
            time_ns = seconds * 10**9 + rest * unit_ns
            self.zero_ns = time_ns if self.zero_ns is None else self.zero_ns
            yield CapturedPacket(
                number, time_ns, "", "", length, data[position : position + captured]
            )
            position += captured

    def _pcapng(self, data: mmap.mmap) -> Iterator[CapturedPacket]:
        section, position, number = _Section(), 0, 0
        while position + 12 <= len(data):
            if data[position : position + 4] == struct.pack("<I", _SECTION):
                section = _Section(order=">" if data[position + 8 : position + 12] == _BIG else "<")
            kind, length = struct.unpack_from(f"{section.order}II", data, position)
            if length < 12 or position + length > len(data):
                return  # the file is still being written
            body = data[position + 8 : position + length - 4]
            position += length
            if kind == _SECTION:
                if match := _ZERO.search(body):
                    self.zero_ns = int(match[1]) * 10**9 + int(match[2])
            elif kind == _INTERFACE:
                options = dict(_options(body, 8, section.order))
                resolution = options.get(_RESOLUTION, b"\x06")[0]
                ticks = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
                section.names.append(options.get(_NAME, b"").decode(errors="replace"))
                section.ticks_per_s.append(ticks)
            elif kind == _PACKET:
                number += 1
                yield self._packet(section, number, body)

    def _packet(self, section: _Section, number: int, body: bytes) -> CapturedPacket:
        index, high, low, captured, length = struct.unpack_from(f"{section.order}IIIII", body)
        ticks = section.ticks_per_s[index] if index < len(section.ticks_per_s) else 10**6
        time_ns = ((high << 32) | low) * 10**9 // ticks
        self.zero_ns = time_ns if self.zero_ns is None else self.zero_ns
        options = dict(_options(body, 20 + captured + (-captured % 4), section.order))
        flags = int.from_bytes(options.get(_FLAGS, b"")[:1], "little") & 3
        direction = {1: "in", 2: "out"}.get(flags, "")
        name = section.names[index] if index < len(section.names) else ""
        return CapturedPacket(number, time_ns, name, direction, length, body[20 : 20 + captured])


def _options(body: bytes, position: int, order: str) -> Iterator[tuple[int, bytes]]:
    while position + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, position)
        if code == 0:
            return
        yield code, body[position + 4 : position + 4 + length]
        position += 4 + length + (-length % 4)


def list_packets(path: Path, *, after: int = 0, words: str = "", flow: str = "") -> PacketPage:
    """Return the packets behind number `after` that contain all words and belong to the flow."""
    wanted = [word.lower() for word in words.split()]
    reader, scanned = CaptureFileReader(path), 0
    listed: list[ListedPacket] = []
    for packet in reader.packets():
        scanned = packet.number
        if len(listed) >= MAX_LISTED or scanned - after > MAX_SCANNED:
            return PacketPage(packets=tuple(listed), scanned=scanned - 1, is_cut=True)
        if packet.number <= after:
            continue
        decoded = decode(packet.data, packet.length)
        if (not flow or decoded.flow == flow) and _contains(packet, decoded, wanted):
            listed.append(_listed(packet, decoded, reader.zero_ns or 0))
    return PacketPage(packets=tuple(listed), scanned=scanned)


def _contains(packet: CapturedPacket, decoded: DecodedPacket, wanted: list[str]) -> bool:
    if not wanted:
        return True
    text = " ".join(
        (packet.port, decoded.source, decoded.destination, decoded.protocol, decoded.info)
    ).lower()
    return all(word in text for word in wanted)


def _listed(packet: CapturedPacket, decoded: DecodedPacket, zero_ns: int) -> ListedPacket:
    return ListedPacket(
        number=packet.number,
        time_ns=packet.time_ns - zero_ns,
        port=packet.port,
        direction=packet.direction,
        bytes=packet.length,
        source=decoded.source,
        destination=decoded.destination,
        protocol=decoded.protocol,
        info=decoded.info,
        flow=decoded.flow,
    )


def packet_details(path: Path, number: int) -> PacketDetails:
    """Return the bytes of one packet. WanlabError if there is none of that number."""
    for packet in CaptureFileReader(path).packets():
        if packet.number == number:
            return PacketDetails(number, packet.length, packet.data[:MAX_SHOWN_BYTES].hex())
    raise WanlabError(f"{path.name} has no packet {number}")
