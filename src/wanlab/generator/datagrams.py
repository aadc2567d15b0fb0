"""Datagrams at a constant rate: sent by number, and counted where they arrive.

Jitter is that of RFC 3550, 6.4.1: with D the difference of two successive delays, J += (|D| - J) / 16.
A datagram is late if one with a higher number was there before it (RFC 4737's reordered).
"""

from __future__ import annotations

import _socket

from .messages import DATAGRAM, MAGIC, SO_RCVBUF, SOL_SOCKET, Socket, now_ns

BUFFER_BYTES = 16 << 20
LARGEST_BYTES = 65536


class Flow:
    """What has come of one flow."""

    def __init__(self) -> None:
        self._seen = bytearray()
        self._count = self._bytes = self._duplicates = self._late = self._greatest = 0
        self._first_ns = self._last_ns = 0
        self._least_ns, self._sum_ns, self._most_ns = 1 << 62, 0, 0
        self._jitter_ns = 0.0
        self._before_ns = -1

    def add(self, number: int, sent_ns: int, came_ns: int, size: int) -> None:
        """`number` counts from 1."""
        if number > len(self._seen):
            self._seen += bytes(number + 1024 - len(self._seen))
        if self._seen[number - 1]:
            self._duplicates += 1
            return
        self._seen[number - 1] = 1
        if not self._count:
            self._first_ns = came_ns
        self._count += 1
        self._bytes += size
        self._last_ns = came_ns
        if number > self._greatest:
            self._greatest = number
        else:
            self._late += 1
        delay_ns = came_ns - sent_ns
        self._least_ns = min(self._least_ns, delay_ns)
        self._most_ns = max(self._most_ns, delay_ns)
        self._sum_ns += delay_ns
        if self._before_ns >= 0:
            self._jitter_ns += (abs(delay_ns - self._before_ns) - self._jitter_ns) / 16
        self._before_ns = delay_ns

    def report(self) -> tuple[float, ...]:
        """As DATAGRAM_REPORT has it."""
        counts = (self._count, self._bytes, self._duplicates, self._late)
        if not self._count:
            return (*counts, 0, 0, 0, 0, 0, 0, 0.0)
        delays = (self._least_ns, self._sum_ns // self._count, self._most_ns)
        return (*counts, self._first_ns, self._last_ns, *delays, self._greatest, self._jitter_ns)


class Arrivals:
    """All flows that come to one port."""

    def __init__(self, port: int) -> None:
        self._socket = Socket(_socket.AF_INET6, _socket.SOCK_DGRAM)
        self._socket.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 0)
        self._socket.setsockopt(SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES)
        self._socket.bind(("::", port))
        self._flows: dict[int, Flow] = {}

    def expect(self, number: int) -> Flow:
        return self._flows.setdefault(number, Flow())

    def forget(self, number: int) -> None:
        del self._flows[number]

    def take_all(self) -> None:
        buffer = bytearray(LARGEST_BYTES)
        while True:
            size = self._socket.recv_into(buffer)
            came_ns = now_ns()
            if size >= DATAGRAM.size:
                magic, flow, number, sent_ns = DATAGRAM.unpack_from(buffer)
                if magic == MAGIC and flow in self._flows:
                    self._flows[flow].add(number, sent_ns, came_ns, size)
