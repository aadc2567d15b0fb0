"""List the packets of a capture file for the page.

Reads pcapng (draft-ietf-opsawg-pcapng) as `Capture` and Wireshark write it, and the older pcap of
`tcpdump -w`. Times are on the network's clock if the file says when that was 0, and otherwise since
the first packet.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import BinaryIO

from wanlab.errors import WanlabError
from wanlab.shared_folder import SharedFolder, file_error

from .packet_decode import DecodedPacket, decode
from .protocol import ListedPacket, PacketDetails, PacketPage

MAX_SCANNED = 100_000
MAX_LISTED = 1000
MAX_SHOWN_BYTES = 2048
MAX_BLOCK_BYTES = 16 << 20
_PCAP_HEADER_BYTES = 24
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_NAME, _RESOLUTION, _FLAGS = 2, 9, 2
_BIG = b"\x1a\x2b\x3c\x4d"
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_ZERO = re.compile(rb"which was 0 at (\d{1,10})\.(\d{9}) s")
_PACKET_HEADER_BYTES = 20


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
    """Reads the packets of a file one after the other; `zero_ns` is known once one has been read.

    The file is not mapped into memory: a program in the network may shorten it meanwhile.
    """

    def __init__(self, folder: SharedFolder, name: str) -> None:
        self._folder = folder
        self._name = name
        self.zero_ns: int | None = None

    def packets(self) -> Iterator[CapturedPacket]:
        """Yield all packets. WanlabError if the file is no capture."""
        try:
            with self._folder.open(self._name) as file:
                kind = file.read(4)
                if not kind:
                    return
                if kind in _PCAP:
                    file.seek(_PCAP_HEADER_BYTES)
                    yield from self._pcap(file, *_PCAP[kind])
                elif kind == struct.pack("<I", _SECTION):
                    file.seek(0)
                    yield from self._pcapng(file)
                else:
                    name = PurePosixPath(self._name).name
                    raise WanlabError(f"{name} is not a packet capture (pcap or pcapng)")
        except OSError as error:
            raise file_error("read", self._name, error) from None

    def _pcap(self, file: BinaryIO, order: str, unit_ns: int) -> Iterator[CapturedPacket]:
        header, number = struct.Struct(f"{order}IIII"), 0
        while len(head := file.read(header.size)) == header.size:
            seconds, rest, captured, length = header.unpack(head)
            data = file.read(min(captured, MAX_BLOCK_BYTES))
            number += 1
            time_ns = seconds * 10**9 + rest * unit_ns
            self.zero_ns = time_ns if self.zero_ns is None else self.zero_ns
            yield CapturedPacket(number, time_ns, "", "", length, data)
            if len(data) < captured:
                return

    def _pcapng(self, file: BinaryIO) -> Iterator[CapturedPacket]:
        section, number = _Section(), 0
        while len(head := file.read(12)) == 12:
            if head[:4] == struct.pack("<I", _SECTION):
                section = _Section(order=">" if head[8:] == _BIG else "<")
            kind, length = struct.unpack_from(f"{section.order}II", head)
            if not 12 <= length <= MAX_BLOCK_BYTES:
                return
            rest = file.read(length - 12)
            if len(rest) < length - 12:
                return  # the file is still being written
            body = (head[8:] + rest)[:-4]
            if kind == _SECTION:
                if match := _ZERO.search(body):
                    self.zero_ns = int(match[1]) * 10**9 + int(match[2])
            elif kind == _INTERFACE:
                options = dict(_options(body, 8, section.order))
                resolution = (options.get(_RESOLUTION) or b"\x06")[0]
                ticks = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
                section.names.append(options.get(_NAME, b"").decode(errors="replace"))
                section.ticks_per_s.append(ticks)
            elif kind == _PACKET:
                if len(body) < _PACKET_HEADER_BYTES:
                    name = PurePosixPath(self._name).name
                    raise WanlabError(f"{name} is damaged after packet {number}")
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


def list_packets(
    folder: SharedFolder, name: str, *, after: int = 0, words: str = "", flow: str = ""
) -> PacketPage:
    """Return the packets behind number `after` that contain all words and belong to the flow."""
    wanted = [word.lower() for word in words.split()]
    reader, scanned = CaptureFileReader(folder, name), 0
    listed: list[ListedPacket] = []
    packets = reader.packets()
    for packet in packets:
        scanned = packet.number
        if len(listed) >= MAX_LISTED or scanned - after > MAX_SCANNED:
            total = _last_number(packets, scanned)
            return PacketPage(tuple(listed), scanned=scanned - 1, is_cut=True, total=total)
        if packet.number <= after:
            continue
        decoded = decode(packet.data, packet.length)
        if (not flow or decoded.flow == flow) and _contains(packet, decoded, wanted):
            listed.append(_listed(packet, decoded, reader.zero_ns or 0))
    return PacketPage(tuple(listed), scanned=scanned, total=scanned)


def _last_number(packets: Iterator[CapturedPacket], number: int) -> int:
    """Return the number of the last packet that can be read; `number` is that of the current one."""
    with contextlib.suppress(WanlabError):  # the rest is damaged, which its page will say
        for packet in packets:
            number = packet.number
    return number


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


def packet_details(folder: SharedFolder, name: str, number: int) -> PacketDetails:
    """Return the bytes of one packet. WanlabError if there is none of that number."""
    for packet in CaptureFileReader(folder, name).packets():
        if packet.number == number:
            return PacketDetails(number, packet.length, packet.data[:MAX_SHOWN_BYTES].hex())
    raise WanlabError(f"{PurePosixPath(name).name} has no packet {number}")
