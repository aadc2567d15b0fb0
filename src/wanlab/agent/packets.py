"""Packets that pass a port, both ways: a ring that the kernel fills and that is shared with us.

    ring    | block | block | block | ...            TPACKET_V3, packet(7),
    block   | header 48 | packet | packet | ...      Documentation/networking/packet_mmap.rst
    packet  | struct tpacket3_hdr | struct sockaddr_ll | room | what was captured of it |

A packet is copied into the ring at the instant at which it passes and is let go at once, so nothing in
the network waits for it. The time on it is the kernel's, of that instant.

The kernel closes a block when it is full. What is in the open one may be read on a computer with one
processor: while we run, the kernel does not write.
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
FRAME_BYTES = 2048  # of no meaning in this version, but must divide a block
USER_STATUS = 1
RETIRE_MS = 8  # a computer with more processors closes a block after that

_BLOCK = struct.Struct("=8xIIIIQ")  # status, packets, offset of the first, length, number
_STATISTICS = struct.Struct("=III")  # packets, drops, freezes


class PacketRing:
    """Captures at most `snaplen` bytes of every packet of an interface that `program` (BPF) lets pass,
    until `max_bytes` have been captured. Opened in the namespace that the caller is in."""

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
        self._block, self._number, self._taken = 0, 1, BLOCK_HEADER_BYTES
        self._lost = 0
        # Nothing is captured before it is bound to a protocol and an interface.
        self._socket = _socket.socket(_socket.AF_PACKET, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, 0)
        try:
            self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, struct.pack("=i", TPACKET_V3))
            self._attach(program or [[0x06, 0, 0, snaplen]])  # return snaplen
            retire_ms = 60_000 if self._is_open_block_readable else RETIRE_MS
            size = self._blocks * BLOCK_BYTES
            ring = (BLOCK_BYTES, self._blocks, FRAME_BYTES, size // FRAME_BYTES, retire_ms, 0, 0)
            self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("=7I", *ring))
            self._ring = mmap.mmap(self._socket.fileno(), size, mmap.MAP_SHARED)
            self._socket.bind((interface, ETH_P_ALL))
        except BaseException:
            self._socket.close()
            raise

    def about(self) -> dict[str, object]:
        return {}

    def drain(self) -> bytes:
        """The packets since the last call, one after the other as they stand in the ring."""
        parts: list[bytes] = []
        while self._max_bytes > 0:
            start = self._block * BLOCK_BYTES
            status, _, _, length, number = _BLOCK.unpack_from(self._ring, start)
            is_closed = bool(status & USER_STATUS)
            if number != self._number or not (is_closed or self._is_open_block_readable):
                break
            if length > self._taken:
                parts.append(self._ring[start + self._taken : start + length])
                self._max_bytes -= length - self._taken
                self._taken = length
            if not is_closed:
                break
            struct.pack_into("=I", self._ring, start + 8, 0)  # the kernel may have it back
            self._block = (self._block + 1) % self._blocks
            self._number += 1
            self._taken = BLOCK_HEADER_BYTES
        if self._max_bytes <= 0:
            self.stop()
        return b"".join(parts)

    def stop(self) -> None:
        """No more packets; what there is can still be drained."""
        if self._socket.fileno() >= 0:
            self._count_lost()
            self._attach([[0x06, 0, 0, 0]])  # return 0: nothing of any packet

    def lost(self) -> int:
        """Packets for which there was no room."""
        self._count_lost()
        return self._lost

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._ring.close()
            self._socket.close()

    def _count_lost(self) -> None:
        """The kernel counts from the last time that it was asked."""
        if self._socket.fileno() >= 0:
            told = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, _STATISTICS.size)
            self._lost += _STATISTICS.unpack(told)[1]

    def _attach(self, program: list[list[int]]) -> None:
        instructions = b"".join(struct.pack("=HBBI", *line) for line in program)
        code = ctypes.create_string_buffer(instructions, len(instructions))
        told = struct.pack("@HP", len(program), ctypes.addressof(code))
        self._socket.setsockopt(_socket.SOL_SOCKET, SO_ATTACH_FILTER, told)
