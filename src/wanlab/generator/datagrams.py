"""Receive datagrams with sequence numbers, and count them.

Jitter is that of RFC 3550, 6.4.1: with D the difference of two successive delays, J += (|D| - J) / 16.
A datagram is late if one with a higher number has arrived before it (reordered in RFC 4737).
"""

from __future__ import annotations

import _socket

from .messages import DATAGRAM, MAGIC, SO_RCVBUF, SOL_SOCKET, Socket, now_ns

BUFFER_BYTES = 16 << 20
MAX_DATAGRAM_BYTES = 65536


class DatagramCounter:
    """Counts the datagrams of one flow."""

    def __init__(self) -> None:
        self._seen = bytearray()
        self._count = self._bytes = self._duplicates = self._late = self._highest = 0
        self._first_ns = self._last_ns = 0
        self._min_delay_ns, self._delay_sum_ns, self._max_delay_ns = 1 << 62, 0, 0
        self._jitter_ns = 0.0
        self._previous_delay_ns = -1

    def add(self, number: int, sent_ns: int, received_ns: int, size: int) -> None:
        """Count a datagram; `number` begins at 1."""
        if number > len(self._seen):
            self._seen += bytes(number + 1024 - len(self._seen))
        if self._seen[number - 1]:
            self._duplicates += 1
            return
        self._seen[number - 1] = 1
        if not self._count:
            self._first_ns = received_ns
        self._count += 1
        self._bytes += size
        self._last_ns = received_ns
        if number > self._highest:
            self._highest = number
        else:
            self._late += 1
        delay_ns = received_ns - sent_ns
        self._min_delay_ns = min(self._min_delay_ns, delay_ns)
        self._max_delay_ns = max(self._max_delay_ns, delay_ns)
        self._delay_sum_ns += delay_ns
        if self._previous_delay_ns >= 0:
            change_ns = abs(delay_ns - self._previous_delay_ns)
            self._jitter_ns += (change_ns - self._jitter_ns) / 16
        self._previous_delay_ns = delay_ns

    def report(self) -> tuple[float, ...]:
        """Return the fields of DATAGRAM_REPORT."""
        counts = (self._count, self._bytes, self._duplicates, self._late)
        if not self._count:
            return (*counts, 0, 0, 0, 0, 0, 0, 0.0)
        mean_ns = self._delay_sum_ns // self._count
        delays_ns = (self._min_delay_ns, mean_ns, self._max_delay_ns)
        return (*counts, self._first_ns, self._last_ns, *delays_ns, self._highest, self._jitter_ns)


class DatagramReceiver:
    """Receives the datagrams of all flows on one port."""

    def __init__(self, port: int) -> None:
        self._socket = Socket(_socket.AF_INET6, _socket.SOCK_DGRAM)
        self._socket.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 0)
        self._socket.setsockopt(SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES)
        self._socket.bind(("::", port))
        self._flows: dict[int, DatagramCounter] = {}

    def expect(self, number: int) -> DatagramCounter:
        """Begin to count the datagrams of a flow."""
        return self._flows.setdefault(number, DatagramCounter())

    def forget(self, number: int) -> None:
        del self._flows[number]

    def receive_all(self) -> None:
        """Receive datagrams for as long as the process lives."""
        buffer = bytearray(MAX_DATAGRAM_BYTES)
        while True:
            size = self._socket.recv_into(buffer)
            received_ns = now_ns()
            if size >= DATAGRAM.size:
                magic, flow, number, sent_ns = DATAGRAM.unpack_from(buffer)
                if magic == MAGIC and flow in self._flows:
                    self._flows[flow].add(number, sent_ns, received_ns, size)
