"""Read capture files: pcap, as of `tcpdump -w`, and pcapng (draft-ietf-opsawg-pcapng), as of Wireshark
and `Capture`. `measure.pcapng` writes them.

    pcap    magic u32 | version, time zone, snaplen | link type u32 |
            seconds u32 | us or ns u32 | captured u32 | original length u32 | data | ...

The magic number of a pcap file says its byte order, and whether its times are in us or ns. The list of
packets in the page, links that deliver as in a capture, and the traffic generator share this reader.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from wanlab.errors import WanlabError

MAX_BLOCK_BYTES = 16 << 20
ETHERNET = 1
_PCAP_HEADER_BYTES = 24
_LINK_TYPE_AT = 20
_LINK_TYPE_BITS = 0xFFFF  # the upper bits of the field say how long the frame check sequence is
_SECTION, _INTERFACE, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 3, 6
_NAME, _RESOLUTION, _OFFSET, _FLAGS = 2, 9, 14, 2
_BIG = b"\x1a\x2b\x3c\x4d"
_PCAPNG = struct.pack("<I", _SECTION)
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_ZERO = re.compile(rb"which was 0 at (\d{1,10})\.(\d{9}) s")
_PACKET_HEADER_BYTES = 20

ETHERNET_BYTES = 14
_IPV4, _IPV6 = 0x0800, 0x86DD
_VLAN_TYPES = (0x8100, 0x88A8)
_IPV4_BYTES, _IPV6_BYTES = 20, 40
# Where the EtherType and the packet are, by link type: https://www.tcpdump.org/linktypes.html.
_LINK_TYPES = {ETHERNET: (12, 14), 113: (14, 16), 276: (0, 20)}
_RAW_LINK_TYPES = {0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0}
"""Those that do not say which protocol follows, or say it in the byte order of an unknown computer."""
_KNOWN = "wanlab reads Ethernet, Linux's cooked captures (tcpdump -i any), loopback and raw IP"
_OTHERS = {105: "802.11", 127: "802.11 with radiotap headers", 195: "802.15.4", 201: "Bluetooth"}


class CapturedPacket(NamedTuple):
    """A packet of a file. `time_ns` is since 1970."""

    number: int
    time_ns: int
    port: str
    direction: str
    length: int
    data: bytes
    link_type: int = ETHERNET


class IpPacket(NamedTuple):
    """An IP packet of a capture."""

    time_ns: int
    """Since the first packet of the file."""
    length: int
    """With its IP header."""
    source: bytes
    destination: bytes


class _Interface(NamedTuple):
    name: str
    ticks_per_s: int
    offset_s: int
    link_type: int


class CaptureReader:
    """Reads the packets of a file one after the other; `zero_ns` is known once one has been read.

    The file is not mapped into memory: a program in the network may shorten it meanwhile.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._order = "<"
        self._interfaces: list[_Interface] = []
        self.zero_ns: int | None = None
        self.is_cut = False
        """Whether the file ended within a packet, once all have been read."""
        self.whole_packets = 0
        self.untimed = 0
        """How many packets were left out because the file does not say when they passed."""

    def packets(self) -> Iterator[CapturedPacket]:
        """Yield all packets. WanlabError if the file is no capture."""
        kind = self._file.read(4)
        if not kind:
            return
        if kind in _PCAP:
            yield from self._pcap(kind, *_PCAP[kind])
        elif kind == _PCAPNG:
            yield from self._pcapng(kind)
        else:
            raise WanlabError(f"{self._name} is not a packet capture (pcap or pcapng)")

    def _pcap(self, kind: bytes, order: str, unit_ns: int) -> Iterator[CapturedPacket]:
        start = kind + self._file.read(_PCAP_HEADER_BYTES - len(kind))
        if len(start) < _PCAP_HEADER_BYTES:
            self.is_cut = True
            return
        link_type = struct.unpack_from(f"{order}I", start, _LINK_TYPE_AT)[0] & _LINK_TYPE_BITS
        header, number = struct.Struct(f"{order}IIII"), 0
        while head := self._file.read(header.size):
            if len(head) < header.size:
                self.is_cut = True
                return
            seconds, rest, captured, length = header.unpack(head)
            data = self._file.read(min(captured, MAX_BLOCK_BYTES))
            number += 1
            time_ns = seconds * 10**9 + rest * unit_ns
            self.zero_ns = time_ns if self.zero_ns is None else self.zero_ns
            self.is_cut = len(data) < captured
            self.whole_packets += not self.is_cut
            yield CapturedPacket(number, time_ns, "", "", length, data, link_type)
            if self.is_cut:
                return

    def _pcapng(self, start: bytes) -> Iterator[CapturedPacket]:
        number = 0
        while head := start + self._file.read(12 - len(start)):
            start = b""
            if head[:4] == _PCAPNG:
                self._order = ">" if head[8:] == _BIG else "<"
                self._interfaces = []
            length = struct.unpack_from(f"{self._order}I", head, 4)[0] if len(head) == 12 else 0
            rest = self._file.read(length - 12) if 12 <= length <= MAX_BLOCK_BYTES else b""
            if len(head) < 12 or not 12 <= length <= MAX_BLOCK_BYTES or len(rest) < length - 12:
                self.is_cut = True  # or the file is still being written
                return
            (kind,) = struct.unpack_from(f"{self._order}I", head)
            body = (head[8:] + rest)[:-4]
            if kind == _SECTION:
                if match := _ZERO.search(body):
                    self.zero_ns = int(match[1]) * 10**9 + int(match[2])
            elif kind == _INTERFACE:
                self._interfaces.append(_interface(body, self._order))
            elif kind == _SIMPLE_PACKET:
                self.untimed += 1
            elif kind == _PACKET:
                if len(body) < _PACKET_HEADER_BYTES:
                    raise WanlabError(f"{self._name} is damaged after packet {number}")
                number = self.whole_packets = number + 1
                yield self._packet(number, body)

    def _packet(self, number: int, body: bytes) -> CapturedPacket:
        order = self._order
        index, high, low, captured, length = struct.unpack_from(f"{order}IIIII", body)
        is_known = index < len(self._interfaces)
        interface = self._interfaces[index] if is_known else _Interface("", 10**6, 0, ETHERNET)
        ticks = (high << 32) | low
        time_ns = interface.offset_s * 10**9 + ticks * 10**9 // interface.ticks_per_s
        self.zero_ns = time_ns if self.zero_ns is None else self.zero_ns
        options = dict(_options(body, 20 + captured + (-captured % 4), order))
        flags = options.get(_FLAGS, b"")
        number_of_flags = int.from_bytes(flags, "big" if order == ">" else "little") & 3
        direction = {1: "in", 2: "out"}.get(number_of_flags, "")
        data = body[20 : 20 + captured]
        name, link_type = interface.name, interface.link_type
        return CapturedPacket(number, time_ns, name, direction, length, data, link_type)


def _interface(body: bytes, order: str) -> _Interface:
    options = dict(_options(body, 8, order))
    resolution = (options.get(_RESOLUTION) or b"\x06")[0]
    ticks = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    offset = options.get(_OFFSET, b"")
    offset_s = struct.unpack(f"{order}q", offset)[0] if len(offset) == 8 else 0
    name = options.get(_NAME, b"").decode(errors="replace")
    link_type = struct.unpack_from(f"{order}H", body)[0] if len(body) >= 2 else ETHERNET
    return _Interface(name, ticks, offset_s, link_type)


def _options(body: bytes, position: int, order: str) -> Iterator[tuple[int, bytes]]:
    while position + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, position)
        if code == 0:
            return
        yield code, body[position + 4 : position + 4 + length]
        position += 4 + length + (-length % 4)


# -- a capture as a source of sizes and times -------------------------------------------------------


def is_capture(data: bytes) -> bool:
    """Whether a file that begins with `data` is a capture."""
    return data[:4] in _PCAP or data[:4] == _PCAPNG


def ip_packets(data: bytes, name: str) -> list[IpPacket]:
    """Return the IP packets of a capture, in order of time. WanlabError if they cannot all be read."""
    reader = CaptureReader(io.BytesIO(data), name)
    packets = list(reader.packets())
    if reader.is_cut:
        raise WanlabError(
            f"{name} is cut off after packet {reader.whole_packets}",
            "is it still being written? `tcpdump -r FILE -w NEW` keeps the packets before that",
        )
    if reader.untimed:
        raise WanlabError(f"{name} does not say when its packets passed", "capture again")
    if not packets:
        raise WanlabError(f"{name} has no packets", "did the capture end before the traffic began?")
    if len(ports := list(dict.fromkeys(packet.port for packet in packets))) > 1:
        raise WanlabError(
            f"{name} has the packets of several interfaces: {', '.join(ports)}",
            "capture at one of them, or each packet may count more than once",
        )
    packets.sort(key=lambda packet: packet.time_ns)
    first_ns = packets[0].time_ns
    found = [ip for packet in packets if (ip := _ip_packet(packet, first_ns, name)) is not None]
    if not found:
        raise WanlabError(f"none of the {len(packets)} packets in {name} is an IP packet")
    return found


def _ip_packet(packet: CapturedPacket, first_ns: int, name: str) -> IpPacket | None:
    """Return the IP packet in a captured one; None if it carries something else."""
    start = start_of_ip(packet, name)
    if start is None:
        return None
    ip, time_ns = packet.data[start:], packet.time_ns - first_ns
    version = ip[0] >> 4 if ip else 0
    if version not in (4, 6) and ip:
        return None
    if len(ip) < (_IPV6_BYTES if version == 6 else _IPV4_BYTES):
        raise WanlabError(
            f"{name}: too few bytes of packet {packet.number} were captured",
            "capture at least 96 bytes of each packet (tcpdump -s 96)",
        )
    whole = packet.length - start
    if version == 4:
        length = int.from_bytes(ip[2:4], "big")
        return IpPacket(time_ns, length or whole, ip[12:16], ip[16:20])
    payload = int.from_bytes(ip[4:6], "big")  # 0 if it is larger than the field
    return IpPacket(time_ns, payload + _IPV6_BYTES if payload else whole, ip[8:24], ip[24:40])


def start_of_ip(packet: CapturedPacket, name: str) -> int | None:
    """Return where the IP header is; None if the frame has another protocol."""
    if packet.link_type in _RAW_LINK_TYPES:
        return _RAW_LINK_TYPES[packet.link_type]
    if packet.link_type not in _LINK_TYPES:
        kind = _OTHERS.get(packet.link_type, f"link type {packet.link_type}")
        raise WanlabError(f"{name} is a capture of {kind}", _KNOWN)
    type_at, start = _LINK_TYPES[packet.link_type]
    kind_of_payload = int.from_bytes(packet.data[type_at : type_at + 2], "big")
    while kind_of_payload in _VLAN_TYPES:
        kind_of_payload = int.from_bytes(packet.data[start + 2 : start + 4], "big")
        start += 4
    return start if kind_of_payload in (_IPV4, _IPV6) else None


def has_both_directions(packets: Sequence[IpPacket]) -> bool:
    """Whether two addresses both sent packets to each other."""
    pairs = {(packet.source, packet.destination) for packet in packets}
    return any((to, by) in pairs for by, to in pairs if by != to)


def address_text(address: bytes) -> str:
    """Return an address in words: "10.0.0.1"."""
    from socket import AF_INET, AF_INET6, inet_ntop

    return inet_ntop(AF_INET if len(address) == 4 else AF_INET6, address)
