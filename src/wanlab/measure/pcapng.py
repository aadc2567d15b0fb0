"""Write pcapng files for Wireshark: packets of several interfaces, with times in ns.

    section header | interface | interface | ... | packet | packet | ... | statistics | ...
    block          | type u32 | length u32 | body, padded to 4 | length u32 |
    option         | code u16 | length u16 | value, padded to 4 |

draft-ietf-opsawg-pcapng; the byte order is that of the host and is stated in the section header.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import BinaryIO

SECTION, INTERFACE, PACKET, STATISTICS = 0x0A0D0D0A, 1, 6, 5
ETHERNET = 1  # LINKTYPE_ETHERNET
NANOSECONDS = b"\x09"  # if_tsresol: 10^-9

_COMMENT, _END = 1, 0
_IF_NAME, _IF_RESOLUTION, _IF_FILTER = 2, 9, 11
_USED_BY = 4  # shb_userappl
_FLAGS = 2
_RECEIVED, _DROPPED = 4, 5  # isb_ifrecv, isb_ifdrop

_PACKET = struct.Struct("=IIIIIII")  # type, length, interface, time (high, low), captured, original
PACKET_BYTES = 44  # the size of a packet block without its data
INBOUND, OUTBOUND = 1, 2
_PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")


class PcapngFile:
    """A file that is being written; `bytes_written` is its size so far."""

    def __init__(self, file: BinaryIO, program: str, comment: str) -> None:
        self._file = file
        self._interfaces = 0
        self.bytes_written = 0
        options = _option(_COMMENT, comment.encode()) + _option(_USED_BY, program.encode())
        body = struct.pack("=IHHq", 0x1A2B3C4D, 1, 0, -1)
        self._write(_block(SECTION, body + options + _option(_END, b"")))

    def add_interface(self, name: str, snaplen: int, condition: str) -> None:
        """Add an interface; they are numbered from 0 in the order of these calls."""
        options = _option(_IF_NAME, name.encode()) + _option(_IF_RESOLUTION, NANOSECONDS)
        if condition:
            options += _option(_IF_FILTER, b"\0" + condition.encode())
        body = struct.pack("=HHI", ETHERNET, 0, snaplen)
        self._write(_block(INTERFACE, body + options + _option(_END, b"")))
        self._interfaces += 1

    def write(self, packets: Sequence[tuple[int, int, int, int, bytes]]) -> None:
        """Write packets: (ns since 1970, interface, direction, original length, data)."""
        parts: list[bytes] = []
        for time_ns, interface, direction, length, data in packets:
            captured = len(data)
            padding = _PADDING[captured & 3]
            total = PACKET_BYTES + captured + len(padding)
            parts += (
                _PACKET.pack(
                    PACKET,
                    total,
                    interface,
                    time_ns >> 32,
                    time_ns & 0xFFFFFFFF,
                    captured,
                    length,
                ),
                data,
                padding,
                _TAILS[direction],
                total.to_bytes(4, "little"),
            )
        self._write(b"".join(parts))

    def add_statistics(self, interface: int, time_ns: int, received: int, dropped: int) -> None:
        """Add how many packets of an interface the kernel received and dropped."""
        options = _option(_RECEIVED, struct.pack("=Q", received))
        options += _option(_DROPPED, struct.pack("=Q", dropped))
        body = struct.pack("=III", interface, time_ns >> 32, time_ns & 0xFFFFFFFF)
        self._write(_block(STATISTICS, body + options + _option(_END, b"")))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self.bytes_written += len(data)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("=I", 12 + len(body))
    return struct.pack("=I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("=HH", code, len(value)) + value + _PADDING[len(value) & 3]


# The options of a packet: its direction, and their end.
_TAILS = {
    direction: _option(_FLAGS, struct.pack("=I", direction)) + _option(_END, b"")
    for direction in (INBOUND, OUTBOUND)
}
