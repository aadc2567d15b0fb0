"""Captures the packets that pass a port, in both directions, in a ring shared with the kernel.

    ring    | block | block | block | ...            TPACKET_V3, packet(7),
    block   | header 48 | packet | packet | ...      Documentation/networking/packet_mmap.rst
    packet  | struct tpacket3_hdr | struct sockaddr_ll | padding | captured bytes |

The kernel copies a packet into the ring at the instant at which it passes, with the time of that
instant. The packet itself does not wait.

The kernel closes a block when it is full. On a machine with one CPU the open block may be read, too:
the kernel does not write while we run.
"""

from __future__ import annotations

import _socket
import ctypes
import mmap
import os
import struct

SOL_PACKET, SO_ATTACH_FILTER = 263, 26
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 5, 6, 10
TPACKET_V3 = 2
ETH_P_ALL = 3
BLOCK_BYTES = 1 << 20
BLOCK_HEADER_BYTES = 48
FRAME_BYTES = 2048  # unused in TPACKET_V3, but it must divide a block
USER_STATUS = 1
RETIRE_MS = 8  # with several CPUs the kernel closes a block after this time

_BLOCK = struct.Struct("=8xIIIIQ")  # status, packets, offset of the first, length, number
_STATISTICS = struct.Struct("=III")  # packets, drops, freezes


class PacketRing:
    """Captures at most `snaplen` bytes of each packet of an interface that the BPF `program` accepts,
    until `max_bytes` have been captured. The interface is in the caller's current namespace; "" stands
    for all interfaces there."""

    def __init__(
        self,
        interface: str,
        snaplen: int,
        ring_bytes: int,
        program: list[list[int]],
        max_bytes: int,
    ) -> None:
        self._is_open_block_readable = os.sysconf("SC_NPROCESSORS_CONF") == 1
        self._max_bytes = max_bytes
        self._blocks = max(4, ring_bytes // BLOCK_BYTES)
        self._block, self._number, self._read_bytes = 0, 1, BLOCK_HEADER_BYTES
        self._lost = 0
        # Nothing is captured before it is bound to a protocol and an interface. Without an interface
        # it is bound to all of them from the start, which bind() of Python cannot do.
        protocol = 0 if interface else _socket.htons(ETH_P_ALL)
        kind = _socket.SOCK_RAW | _socket.SOCK_CLOEXEC
        self._socket = _socket.socket(_socket.AF_PACKET, kind, protocol)
        try:
            self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, struct.pack("=i", TPACKET_V3))
            self._attach(program or [[0x06, 0, 0, snaplen]])  # return snaplen
            retire_ms = 60_000 if self._is_open_block_readable else RETIRE_MS
            size = self._blocks * BLOCK_BYTES
            ring = (BLOCK_BYTES, self._blocks, FRAME_BYTES, size // FRAME_BYTES, retire_ms, 0, 0)
            self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("=7I", *ring))
            self._ring = mmap.mmap(self._socket.fileno(), size, mmap.MAP_SHARED)
            if interface:
                self._socket.bind((interface, ETH_P_ALL))
        except BaseException:
            self._socket.close()
            raise

    def describe(self) -> dict[str, object]:
        return {}

    def drain(self) -> bytes:
        """Return the packets since the last call, one after the other as they are in the ring."""
        parts: list[bytes] = []
        while self._max_bytes > 0:
            start = self._block * BLOCK_BYTES
            status, _, _, length, number = _BLOCK.unpack_from(self._ring, start)
            is_closed = bool(status & USER_STATUS)
            if number != self._number or not (is_closed or self._is_open_block_readable):
                break
            if length > self._read_bytes:
                parts.append(self._ring[start + self._read_bytes : start + length])
                self._max_bytes -= length - self._read_bytes
                self._read_bytes = length
            if not is_closed:
                break
            struct.pack_into("=I", self._ring, start + 8, 0)  # returns the block to the kernel
            self._block = (self._block + 1) % self._blocks
            self._number += 1
            self._read_bytes = BLOCK_HEADER_BYTES
        if self._max_bytes <= 0:
            self.stop()
        return b"".join(parts)

    def stop(self) -> None:
        """Capture no more packets; those captured can still be drained."""
        if self._socket.fileno() >= 0:
            self._count_lost()
            self._attach([[0x06, 0, 0, 0]])  # return 0: no bytes of any packet

    def lost(self) -> int:
        """Return how many packets did not fit into the ring."""
        self._count_lost()
        return self._lost

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._ring.close()
            self._socket.close()

    def _count_lost(self) -> None:
        """Add the drops since the last call: reading the kernel's counters resets them."""
        if self._socket.fileno() >= 0:
            statistics = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, _STATISTICS.size)
            self._lost += _STATISTICS.unpack(statistics)[1]

    def _attach(self, program: list[list[int]]) -> None:
        instructions = b"".join(struct.pack("=HBBI", *line) for line in program)
        code = ctypes.create_string_buffer(instructions, len(instructions))
        filter_program = struct.pack("@HP", len(program), ctypes.addressof(code))
        self._socket.setsockopt(_socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_program)
