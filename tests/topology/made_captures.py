"""Capture files for tests: packets of chosen sizes and times, in both formats and all byte orders."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from ipaddress import ip_address

from wanlab.measure.pcapng import OUTBOUND, PcapngFile

A, B = "10.0.0.1", "10.0.0.2"
ETHERNET, RAW, COOKED, LOOPBACK = 1, 101, 113, 0
START_S = 1_700_000_000
Packet = tuple[int, int] | tuple[int, int, str, str]
"""Time in ns since the first, length of the IP packet; its source and destination."""


def ip(length: int, source: str = A, destination: str = B) -> bytes:
    """Return an IP packet of a length, of which only the header is captured."""
    by, to = ip_address(source).packed, ip_address(destination).packed
    if len(by) == 16:
        return struct.pack("!IHBB", 6 << 28, length - 40, 17, 64) + by + to
    return struct.pack("!BBHHHBBH", 0x45, 0, length, 1, 0, 64, 17, 0) + by + to


def frame(packet: bytes, link_type: int = ETHERNET, tags: int = 0) -> bytes:
    kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00"
    headers = {
        ETHERNET: bytes(12) + b"\x81\x00\x00\x05" * tags + kind,
        RAW: b"",
        COOKED: bytes(14) + kind,
        LOOPBACK: bytes(4),
    }
    return headers.get(link_type, b"") + packet


def pcap(
    packets: Sequence[Packet],
    *,
    order: str = "<",
    in_ns: bool = False,
    link_type: int = ETHERNET,
    tags: int = 0,
) -> bytes:
    """Return a file as tcpdump writes it."""
    magic = 0xA1B23C4D if in_ns else 0xA1B2C3D4
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for time_ns, length, *ends in packets:
        data = frame(ip(length, *ends), link_type, tags)
        second, rest_ns = divmod(time_ns, 10**9)
        header_bytes = len(data) - len(ip(length, *ends))
        parts.append(
            struct.pack(
                f"{order}IIII",
                START_S + second,
                rest_ns if in_ns else rest_ns // 1000,
                len(data),
                header_bytes + length,
            )
        )
        parts.append(data)
    return b"".join(parts)


def pcapng(packets: Sequence[Packet], ports: Sequence[str] = ("h1-eth0",)) -> bytes:
    """Return a file as `Capture` writes it; the packets pass the ports in turn."""
    stream = io.BytesIO()
    writer = PcapngFile(stream, "wanlab", "made by a test")
    for port in ports:
        writer.add_interface(port, 96, "")
    writer.write(
        [
            (
                START_S * 10**9 + time_ns,
                number % len(ports),
                OUTBOUND,
                14 + length,
                frame(ip(length, *ends)),
            )
            for number, (time_ns, length, *ends) in enumerate(packets)
        ]
    )
    return stream.getvalue()
