"""The side that takes what is sent: a thread for each connection, and one for all datagrams."""

from __future__ import annotations

import _socket
import _thread
import os
import sys

from .datagrams import Arrivals
from .messages import (
    DATAGRAM_REPORT,
    DATAGRAMS,
    HEADER,
    IPPROTO_TCP,
    MAGIC,
    REPORT,
    REQUEST,
    REQUESTS,
    SENT,
    SO_RCVTIMEO,
    SO_REUSEADDR,
    SOL_SOCKET,
    STACK_BYTES,
    STREAM,
    TCP_NODELAY,
    WITHOUT_END,
    Socket,
    now_ns,
    receive,
    send_bytes,
    set_congestion,
    sleep_until,
    throw_away,
    timeval,
)

BACKLOG = 4096


def serve(port: int, is_daemon: bool) -> int:
    """Until it is killed. As a daemon it returns when it listens; somebody else goes on then."""
    listener = Socket(_socket.AF_INET6, _socket.SOCK_STREAM)
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    listener.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(BACKLOG)
    arrivals = Arrivals(port)
    if is_daemon:
        if os.fork():
            return 0
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
    else:
        print(f"wanlab-traffic: listening on port {port}", flush=True)
    _thread.stack_size(STACK_BYTES)
    _thread.start_new_thread(arrivals.take_all, ())
    while True:
        descriptor, _ = listener._accept()  # type: ignore[attr-defined]
        _thread.start_new_thread(_serve_connection, (Socket(fileno=descriptor), arrivals))


def _serve_connection(connection: Socket, arrivals: Arrivals) -> None:
    try:
        _serve_request(connection, arrivals)
    except OSError as error:
        print(f"wanlab-traffic: {error.strerror}", file=sys.stderr)
    finally:
        connection.close()


def _serve_request(connection: Socket, arrivals: Arrivals) -> None:
    header = receive(connection, HEADER.size)
    if not header:
        return
    magic, kind, congestion, first, second = HEADER.unpack(header)
    if magic != MAGIC:
        return
    if kind == STREAM:
        seen, seen_ns = 0, now_ns()
        if second > seen_ns:
            connection.setsockopt(SOL_SOCKET, SO_RCVTIMEO, timeval(second - seen_ns))
            seen = throw_away(connection, first or WITHOUT_END)
            seen_ns = now_ns()
            connection.setsockopt(SOL_SOCKET, SO_RCVTIMEO, timeval(0))
        came = seen + throw_away(connection, (first or WITHOUT_END) - seen)
        connection.sendall(REPORT.pack(came, now_ns(), seen, seen_ns))
        receive(connection, 1)  # who has got the report closes first
    elif kind == REQUESTS:
        set_congestion(connection, congestion.rstrip(b"\0"))
        connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        while request := receive(connection, REQUEST.size):
            asked, answer = REQUEST.unpack(request)
            throw_away(connection, asked - REQUEST.size)
            if send_bytes(connection, answer) < answer:
                break
    elif kind == DATAGRAMS:
        with_number = arrivals.expect(first)
        connection.sendall(SENT.pack(0))
        if receive(connection, SENT.size):
            sleep_until(now_ns() + second)
            connection.sendall(DATAGRAM_REPORT.pack(*with_number.report()))
        arrivals.forget(first)
