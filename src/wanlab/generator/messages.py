"""What the two ends say to each other, and the system calls that both use.

A connection begins with a header and is one of

    STREAM      the sender sends `first` bytes (0: until it says that it has ended), the other side
                answers with a report; `second`: an instant at which it looks how much has come
    REQUESTS    each request is a REQUEST, then more bytes up to its size; the answer is so many bytes
    DATAGRAMS   datagrams come over UDP with the number `first`; when the sender says how many it has
                sent, the other side answers with what has come of them, `second` ns later

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
"""Magic, kind, congestion control of what is sent back, first, second."""
REPORT = struct.Struct("<QQQQ")
"""Bytes, when the last of them had come; bytes that had come when it looked, and when that was."""
REQUEST = struct.Struct("<QQ")
"""Bytes of the request, this included, and of the answer."""
DATAGRAM = struct.Struct("<4sIQQ")
"""Magic, number of the flow, number of the datagram, when it was sent."""
SENT = struct.Struct("<Q")
DATAGRAM_REPORT = struct.Struct("<QQQQQQQQQQd")
"""Datagrams, bytes, duplicates, late ones (behind one with a higher number), first and last arrival,
least, mean and greatest delay, greatest number, jitter in ns."""

# From asm-generic/socket.h and linux/tcp.h: `socket` names them, and takes long to load.
SOL_SOCKET, SO_REUSEADDR, SO_RCVBUF, SO_MAX_PACING_RATE = 1, 2, 8, 47
SO_RCVTIMEO, SO_SNDTIMEO = 20, 21
IPPROTO_TCP, TCP_NODELAY, TCP_CONGESTION, TCP_NOTSENT_LOWAT = 6, 1, 13, 25
MSG_TRUNC, MSG_WAITALL = 0x20, 0x100

WITHOUT_END = 1 << 62
STACK_BYTES = 256 << 10
"""Of a thread."""

Address = tuple[object, ...]


class Socket(_socket.socket):
    """Closed where its block ends."""

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# One system call sends a quarter of a gigabyte, out of one piece of memory; one throws away as much.
PIECE = memoryview(bytes(1 << 18))
MOST_PIECES = 1024
MOST_AT_ONCE_BYTES = 1 << 28


def now_ns() -> int:
    return time.monotonic_ns()


def sleep_until(instant_ns: int) -> None:
    left_ns = instant_ns - now_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def be_punctual() -> None:
    """Who sleeps may be woken 50 us late, so that others are woken with it; not us."""
    try:
        with open("/proc/self/timerslack_ns", "w", encoding="ascii") as file:
            file.write("1")
    except OSError:  # then it is 50 us
        return


def send_bytes(connection: Socket, count: int) -> int:
    """Sends so many bytes; how many went before the other side or a time limit ended it."""
    left = count
    while left:
        whole, rest = divmod(left, len(PIECE))
        pieces = [PIECE] * min(whole, MOST_PIECES)
        if whole < MOST_PIECES and rest:
            pieces.append(PIECE[:rest])
        try:
            sent = connection.sendmsg(pieces)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            break
        left -= sent
        if sent < sum(map(len, pieces)):  # what blocks sends all, unless it is made to stop
            break
    return count - left


def throw_away(connection: Socket, count: int) -> int:
    """Takes so many bytes, or until the other side or a time limit ends it; how many came."""
    came = 0
    while came < count:
        wanted = min(count - came, MOST_AT_ONCE_BYTES)
        try:
            got = len(connection.recv(wanted, MSG_TRUNC | MSG_WAITALL))
        except BlockingIOError:
            break
        came += got
        if got < wanted:
            break
    return came


def receive(connection: Socket, count: int) -> bytes:
    """Exactly so many bytes; none if the other side has ended."""
    data = connection.recv(count, MSG_WAITALL)
    return data if len(data) == count else b""


def set_congestion(connection: Socket, name: bytes) -> None:
    if name:
        connection.setsockopt(IPPROTO_TCP, TCP_CONGESTION, name)


def has_congestion(name: str) -> bool:
    with Socket(_socket.AF_INET, _socket.SOCK_STREAM) as connection:
        try:
            set_congestion(connection, name.encode())
        except OSError:
            return False
    return True


def timeval(nanoseconds: int) -> bytes:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return struct.pack("@ll", seconds, -(-rest // 1000))
