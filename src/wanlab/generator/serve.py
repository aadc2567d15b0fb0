"""The server: a thread for each connection, and one for all datagrams."""

from __future__ import annotations

import _socket
import _thread
import os
import sys

from .datagrams import DatagramReceiver
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
    UNLIMITED,
    Socket,
    discard,
    now_ns,
    receive,
    send_bytes,
    set_congestion,
    sleep_until,
    timeval,
)

BACKLOG = 4096


def serve(port: int, is_daemon: bool) -> int:
    """Serve until killed. As a daemon, return as soon as a child process listens on the port."""
    listener = Socket(_socket.AF_INET6, _socket.SOCK_STREAM)
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    listener.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(BACKLOG)
    datagrams = DatagramReceiver(port)
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
    _thread.start_new_thread(datagrams.receive_all, ())
    while True:
        descriptor, _ = listener._accept()  # type: ignore[attr-defined]
        _thread.start_new_thread(_serve_connection, (Socket(fileno=descriptor), datagrams))


def _serve_connection(connection: Socket, datagrams: DatagramReceiver) -> None:
    try:
        _serve_by_kind(connection, datagrams)
    except OSError as error:
        print(f"wanlab-traffic: {error.strerror}", file=sys.stderr)
    finally:
        connection.close()


def _serve_by_kind(connection: Socket, datagrams: DatagramReceiver) -> None:
    """Read the header, and serve the connection according to its kind (see `messages`)."""
    header = receive(connection, HEADER.size)
    if not header:
        return
    magic, kind, congestion, first, second = HEADER.unpack(header)
    if magic != MAGIC:
        return
    if kind == STREAM:
        _serve_stream(connection, first or UNLIMITED, second)
    elif kind == REQUESTS:
        set_congestion(connection, congestion.rstrip(b"\0"))
        connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        while request := receive(connection, REQUEST.size):
            request_bytes, answer_bytes = REQUEST.unpack(request)
            discard(connection, request_bytes - REQUEST.size)
            if send_bytes(connection, answer_bytes) < answer_bytes:
                break
    elif kind == DATAGRAMS:
        counter = datagrams.expect(first)
        connection.sendall(SENT.pack(0))
        if receive(connection, SENT.size):
            sleep_until(now_ns() + second)
            connection.sendall(DATAGRAM_REPORT.pack(*counter.report()))
        datagrams.forget(first)


def _serve_stream(connection: Socket, size: int, count_ns: int) -> None:
    """Receive `size` bytes; report how many arrived in all, and how many until `count_ns`."""
    early, early_ns = 0, now_ns()
    if count_ns > early_ns:
        connection.setsockopt(SOL_SOCKET, SO_RCVTIMEO, timeval(count_ns - early_ns))
        early = discard(connection, size)
        early_ns = now_ns()
        connection.setsockopt(SOL_SOCKET, SO_RCVTIMEO, timeval(0))
    total = early + discard(connection, size - early)
    connection.sendall(REPORT.pack(total, now_ns(), early, early_ns))
    receive(connection, 1)  # wait until the client, which has the report, closes first
