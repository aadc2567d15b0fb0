"""The protocol between sender and server, and the system calls that both use.

A connection begins with a header, and is one of

    STREAM      the client sends `first` bytes (0: until it shuts down its side), and the server answers
                with a report; at the time `second` the server counts the bytes that it has received
    REQUESTS    each request is a REQUEST, then more bytes up to its size; the answer has the size that
                the request asks for
    DATAGRAMS   datagrams with the flow number `first` arrive over UDP; when the client says how many it
                has sent, the server answers `second` ns later with a report

Integers are little-endian; times are ns of CLOCK_MONOTONIC, which is the same in every node.
"""

from __future__ import annotations

import _socket
import struct
import time

PORT = 5202
MAGIC = b"wlt1"
STREAM, REQUESTS, DATAGRAMS = 1, 2, 3
HEADER = struct.Struct("<4sI16sQQ")
"""Magic, kind, congestion control of the server's side, first, second."""
REPORT = struct.Struct("<QQQQ")
"""Bytes in all, and when the last of them arrived; bytes at the time `second`, and when the server
counted them."""
REQUEST = struct.Struct("<QQ")
"""Size of the request in bytes, including this struct, and of the answer."""
DATAGRAM = struct.Struct("<4sIQQ")
"""Magic, flow number, sequence number, time of sending."""
SENT = struct.Struct("<Q")
DATAGRAM_REPORT = struct.Struct("<QQQQQQQQQQd")
"""Datagrams, bytes, duplicates, late ones (after one with a higher number), first and last arrival,
minimum, mean and maximum delay, highest number, jitter in ns."""

# From asm-generic/socket.h and linux/tcp.h; the module `socket`, which has them, takes long to load.
SOL_SOCKET, SO_REUSEADDR, SO_RCVBUF, SO_MAX_PACING_RATE = 1, 2, 8, 47
SO_RCVTIMEO = 20
IPPROTO_TCP, TCP_NODELAY, TCP_INFO, TCP_CONGESTION, TCP_NOTSENT_LOWAT = 6, 1, 11, 13, 25
MSG_TRUNC, MSG_WAITALL = 0x20, 0x100

# In struct tcp_info of linux/tcp.h.
SEND_MSS, SEND_MSS_AT = struct.Struct("@I"), 16
DELIVERY_RATE, DELIVERY_RATE_AT = struct.Struct("@Q"), 160
TCP_INFO_BYTES = 168

UNLIMITED = 1 << 62
STACK_BYTES = 256 << 10
"""The stack size of a thread."""

Address = tuple[object, ...]


class Socket(_socket.socket):
    """A socket that a `with` block closes."""

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# One system call sends up to 256 MB from the same piece of memory, or discards as much.
PIECE = memoryview(bytes(1 << 18))
MAX_PIECES = 1024
MAX_RECEIVE_BYTES = 1 << 28


def now_ns() -> int:
    return time.monotonic_ns()


def sleep_until(instant_ns: int) -> None:
    left_ns = instant_ns - now_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def disable_timer_slack() -> None:
    """Turn off timer slack: by default the kernel may wake a sleeping thread 50 us late (prctl(2))."""
    try:
        with open("/proc/self/timerslack_ns", "w", encoding="ascii") as file:
            file.write("1")
    except OSError:  # the default remains
        return


def send_bytes(connection: Socket, count: int) -> int:
    """Send `count` bytes; return how many were sent before the peer or a timeout ended it."""
    left = count
    while left:
        whole, rest = divmod(left, len(PIECE))
        pieces = [PIECE] * min(whole, MAX_PIECES)
        if whole < MAX_PIECES and rest:
            pieces.append(PIECE[:rest])
        try:
            sent = connection.sendmsg(pieces)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            break
        left -= sent
        # A blocking socket sends everything, unless a timeout ends it.
        if sent < sum(map(len, pieces)):
            break
    return count - left


def send_until(connection: Socket, end_ns: int, paced_bytes_ps: int, max_unsent: int) -> None:
    """Send as fast as TCP lets us until `end_ns`; what is unsent then is sent later.

    So no more than a millisecond's worth is buffered, at most `max_unsent` bytes, at least a packet.
    `paced_bytes_ps` is the rate to which the sender is paced, or 0.
    """
    while (left_ns := end_ns - now_ns()) > 0:
        info = connection.getsockopt(IPPROTO_TCP, TCP_INFO, TCP_INFO_BYTES)
        (packet_bytes,) = SEND_MSS.unpack_from(info, SEND_MSS_AT)
        (delivered_bytes_ps,) = DELIVERY_RATE.unpack_from(info, DELIVERY_RATE_AT)
        packets = min(max_unsent, (paced_bytes_ps or delivered_bytes_ps) // 1000) // packet_bytes
        unsent = packet_bytes * max(1, packets)
        connection.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent if packets > 1 else 1)
        connection.settimeout(left_ns / 1e9)
        try:
            connection.send(PIECE[:unsent])
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            break
    connection.settimeout(None)


def discard(connection: Socket, count: int) -> int:
    """Receive and discard `count` bytes; return how many came before the peer or a timeout ended it."""
    total = 0
    while total < count:
        requested = min(count - total, MAX_RECEIVE_BYTES)
        try:
            received = len(connection.recv(requested, MSG_TRUNC | MSG_WAITALL))
        except BlockingIOError:
            break
        total += received
        if received < requested:
            break
    return total


def receive(connection: Socket, count: int) -> bytes:
    """Return exactly `count` bytes, or b"" if the peer has closed the connection."""
    data = connection.recv(count, MSG_WAITALL)
    return data if len(data) == count else b""


def set_congestion(connection: Socket, name: bytes) -> None:
    if name:
        connection.setsockopt(IPPROTO_TCP, TCP_CONGESTION, name)


def has_congestion(name: str) -> bool:
    """Whether the kernel has this congestion control; "" is the default one."""
    with Socket(_socket.AF_INET, _socket.SOCK_STREAM) as connection:
        try:
            set_congestion(connection, name.encode())
        except OSError:
            return False
    return True


def timeval(nanoseconds: int) -> bytes:
    """Return a `struct timeval`, rounded up to microseconds."""
    return struct.pack("@ll", *divmod(-(-nanoseconds // 1000), 1_000_000))
