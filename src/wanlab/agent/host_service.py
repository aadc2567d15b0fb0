"""The socket on which programs in the machine send requests to the user's side.

A program connects to the Unix socket /run/wanlab/host-service and sends a request, one line of JSON:
{"do": "line", "prompt": "mininet> "}. From then on the connection carries bytes both ways, in whatever
form the two sides have agreed on. On the channel to the user's side each connection has a number.
The agent answers the requests that it can answer itself. If a program sends {"do": "agent"}, its
connection becomes the channel to a fork of this agent, which works for that program.
"""

from __future__ import annotations

import _socket  # `socket` costs twice the start-up time
import json
import os
import select
from collections.abc import Callable

from .messages import CHUNK_BYTES, Kind, encode

ADDRESS = "/run/wanlab/host-service"
FOR_AN_AGENT = b'{"do": "agent"}'
MAX_REQUEST_BYTES = 1 << 20
MAX_PENDING_CONNECTIONS = 128


class ProgramConnection:  # a plain class: `dataclasses` would cost a tenth of a machine's start
    """One program's connection. `request` collects its first line; None once that has been forwarded."""

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self.descriptor = descriptor
        self.request: bytearray | None = bytearray()
        self.waiting = bytearray()
        self.is_ending = False


class HostServiceSocket:
    """Listens as soon as it is created. `send` passes a frame to the user's side."""

    def __init__(
        self,
        poll: select.epoll,
        send: Callable[[bytes], None],
        local_handlers: dict[str, Callable[..., object]] | None = None,
        fork_for: Callable[[int], None] | None = None,
        address: str = ADDRESS,
    ) -> None:
        self._local_handlers = local_handlers or {}
        self._fork_for = fork_for
        self._poll = poll
        self._send = send
        self._number = 0
        self._by_descriptor: dict[int, ProgramConnection] = {}
        self._by_number: dict[int, ProgramConnection] = {}
        self._socket = _socket.socket(
            _socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK
        )
        self._socket.bind(address)
        self._socket.listen(MAX_PENDING_CONNECTIONS)
        self._poll.register(self._socket.fileno(), select.EPOLLIN)

    def owns(self, descriptor: int) -> bool:
        return descriptor == self._socket.fileno() or descriptor in self._by_descriptor

    def ready(self, descriptor: int, events: int) -> None:
        """Handle epoll `events` of one of this socket's descriptors."""
        if descriptor == self._socket.fileno():
            self._accept_connection()
            return
        connection = self._by_descriptor[descriptor]
        if events & select.EPOLLOUT:
            self._write(connection)
        if events & ~select.EPOLLOUT and connection.number in self._by_number:
            self._read(connection)

    def answer(self, number: int, data: bytes) -> None:
        """Send bytes to a program; they are dropped if it has disconnected."""
        connection = self._by_number.get(number)
        if connection is not None:
            connection.waiting += data
            self._write(connection)

    def answer_end(self, number: int) -> None:
        connection = self._by_number.get(number)
        if connection is not None:
            connection.is_ending = True
            self._write(connection)

    def _accept_connection(self) -> None:
        try:
            descriptor, _ = self._socket._accept()  # type: ignore[attr-defined]
        except BlockingIOError:
            return
        os.set_blocking(descriptor, False)
        self._number += 1
        connection = ProgramConnection(self._number, descriptor)
        self._by_descriptor[descriptor] = self._by_number[connection.number] = connection
        self._poll.register(descriptor, select.EPOLLIN)

    def _read(self, connection: ProgramConnection) -> None:
        try:
            data = os.read(connection.descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close_connection(connection)
        elif connection.request is None:
            self._send(encode(Kind.REQUEST_DATA, connection.number, data))
        else:
            self._read_request(connection, connection.request, data)

    def _read_request(self, connection: ProgramConnection, request: bytearray, data: bytes) -> None:
        request += data
        line, end, rest = bytes(request).partition(b"\n")
        if end:
            if self._fork_agent(connection, line) or self._answer_locally(connection, line):
                return
            connection.request = None
            self._send(encode(Kind.REQUEST, connection.number, line))
            if rest:
                self._send(encode(Kind.REQUEST_DATA, connection.number, rest))
        elif len(request) > MAX_REQUEST_BYTES:
            self._close_connection(connection)

    def _fork_agent(self, connection: ProgramConnection, line: bytes) -> bool:
        if self._fork_for is None or line != FOR_AN_AGENT:
            return False
        self._fork_for(connection.descriptor)
        self._close_connection(connection)
        return True

    def _answer_locally(self, connection: ProgramConnection, line: bytes) -> bool:
        try:
            request = json.loads(line)
            answer = self._local_handlers[request.pop("do")](**request)
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        connection.waiting += json.dumps(answer).encode() + b"\n"
        connection.is_ending = True
        self._write(connection)
        return True

    def _write(self, connection: ProgramConnection) -> None:
        try:
            while connection.waiting:
                del connection.waiting[
                    : os.write(connection.descriptor, connection.waiting[:CHUNK_BYTES])
                ]
        except BlockingIOError:
            self._poll.modify(connection.descriptor, select.EPOLLIN | select.EPOLLOUT)
            return
        except OSError:
            self._close_connection(connection)
            return
        self._poll.modify(connection.descriptor, select.EPOLLIN)
        if connection.is_ending:
            self._close_connection(connection)

    def _close_connection(self, connection: ProgramConnection) -> None:
        self._poll.unregister(connection.descriptor)
        os.close(connection.descriptor)
        del self._by_descriptor[connection.descriptor], self._by_number[connection.number]
        if connection.request is None:
            self._send(encode(Kind.REQUEST_END, connection.number))
