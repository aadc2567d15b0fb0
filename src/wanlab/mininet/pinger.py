"""ICMP echo requests from node to node, without starting a `ping` for each.

Each node has one raw socket, opened in its namespace; a ping takes some twenty system calls on it. A
request is lost if no reply comes in time, or if a node reports that the target is unreachable
(RFC 792). The kernel notes when a reply arrives.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from dataclasses import dataclass

from .namespace import inside

ECHO_REQUEST, ECHO_REPLY = 8, 0
UNREACHABLE, TIME_EXCEEDED = 3, 11
SOL_RAW, ICMP_FILTER = 255, 1
IP_RECVERR = 11
SO_TIMESTAMPNS = 35
DATA_BYTES = 56
CHUNK = 4096
REPLY_TIMEOUT_S = 10.0
"""How long `ping` waits for the reply to its last request."""


@dataclass(frozen=True)
class Echo:
    """The result of a request. `rtt_ms` is None if it was lost."""

    rtt_ms: float | None


class Pinger:
    """Sends echo requests. A context manager that closes its sockets at the end."""

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        self._identity = os.getpid() & 0xFFFF
        self._sequence = 0

    def __enter__(self) -> Pinger:
        return self

    def __exit__(self, *_: object) -> None:
        for opened in self._sockets.values():
            opened.close()

    def ping(self, namespace: str, address: str, timeout_s: float = REPLY_TIMEOUT_S) -> Echo:
        """Send one request from a namespace and wait for its reply."""
        opened = self._socket(namespace)
        self._drain(opened)
        self._sequence = self._sequence % 0xFFFF + 1
        sent_ns = time.time_ns()
        packet = echo_request(self._identity, self._sequence)
        try:
            opened.sendto(packet, (address, 0))
        except OSError:  # no route to it
            return Echo(None)
        return self._wait(opened, sent_ns, timeout_s)

    def _wait(self, opened: socket.socket, sent_ns: int, timeout_s: float) -> Echo:
        poll = select.poll()
        poll.register(opened, select.POLLIN)
        until_ns = sent_ns + int(timeout_s * 1e9)
        left_ns = int(timeout_s * 1e9)
        while left_ns > 0:
            for _, events in poll.poll(-(-left_ns // 1_000_000)):
                if events & select.POLLERR and self._is_refused(opened):
                    return Echo(None)
                if events & select.POLLIN:
                    received_ns = self._receive(opened)
                    if received_ns is not None:
                        return Echo((received_ns - sent_ns) / 1e6)
            left_ns = until_ns - time.time_ns()
        return Echo(None)

    def _socket(self, namespace: str) -> socket.socket:
        opened = self._sockets.get(namespace)
        if opened is None:
            with inside(namespace):
                opened = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            opened.setblocking(False)
            blocked_types = 0xFFFFFFFF & ~(1 << ECHO_REPLY)
            opened.setsockopt(SOL_RAW, ICMP_FILTER, struct.pack("=I", blocked_types))
            opened.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
            opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self._sockets[namespace] = opened
        return opened

    def _drain(self, opened: socket.socket) -> None:
        """Discard late replies to earlier requests."""
        for flags in (0, socket.MSG_ERRQUEUE):
            try:
                while True:
                    opened.recvmsg(CHUNK, CHUNK, flags)
            except OSError:
                continue

    def _receive(self, opened: socket.socket) -> int | None:
        """Return the arrival time of the awaited reply in ns, or None for another packet."""
        try:
            data, extras, _, _ = opened.recvmsg(CHUNK, CHUNK)
        except OSError:
            return None
        header_bytes = (data[0] & 0xF) * 4
        kind, _, _, identity, sequence = struct.unpack_from("!BBHHH", data, header_bytes)
        if (kind, identity, sequence) != (ECHO_REPLY, self._identity, self._sequence):
            return None
        for level, number, value in extras:
            if (level, number) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = map(int, struct.unpack_from("=qq", value))
                return seconds * 1_000_000_000 + nanoseconds
        return time.time_ns()

    def _is_refused(self, opened: socket.socket) -> bool:
        """Whether a node has reported that the target is unreachable."""
        try:
            data, _, _, _ = opened.recvmsg(CHUNK, CHUNK, socket.MSG_ERRQUEUE)
        except OSError:
            return False
        if len(data) < 8:
            return True
        identity, sequence = (
            struct.unpack_from("!HH", data, len(data) - DATA_BYTES - 4)
            if (len(data) >= DATA_BYTES + 8)
            else struct.unpack_from("!HH", data, 4)
        )
        return bool((identity, sequence) == (self._identity, self._sequence))


def echo_request(identity: int, sequence: int) -> bytes:
    """Return a request of 64 bytes, as long as that of `ping`."""
    data = bytes(range(DATA_BYTES))
    blank = struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, identity, sequence)
    header = struct.pack("!BBHHH", ECHO_REQUEST, 0, checksum(blank + data), identity, sequence)
    return header + data


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071) of an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
