"""The socket on which programs in the machine send requests to the user's side.

A program connects to the Unix socket /run/wanlab/host-service and sends a request, one line of JSON:
{"do": "line", "prompt": "mininet> "}. From then on the connection carries bytes both ways, in whatever
form the two sides have agreed on. On the channel to the user's side each connection has a number.
Anything else than a request gets {"error": ...}, and its connection ends.
The agent answers the requests that it can answer itself. If a program sends {"do": "agent"}, its
connection becomes the channel to a fork of this agent, which works for that program.
"""

from __future__ import annotations

import _socket  # `socket` costs twice the start-up time
import json
import os
import select
from collections.abc import Callable

from .messages import CHUNK_BYTES, MAX_REQUEST_BYTES, Kind, decode_json, encode

ADDRESS = "/run/wanlab/host-service"
FOR_AN_AGENT = b'{"do": "agent"}'
MAX_REQUEST_DEPTH = 8
"""How deeply the lists and mappings of a request may be nested."""
MAX_UNREAD_BYTES = 1 << 24
"""Of all requests together whose line has not ended."""
MAX_CONNECTIONS = 4096
MAX_PENDING_CONNECTIONS = 128
NO_REQUEST = 'a request must be one line of JSON: {"do": "...", ...}'


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
        if len(self._by_descriptor) >= MAX_CONNECTIONS:
            os.close(descriptor)
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
        if not end:
            if len(request) > MAX_REQUEST_BYTES or self._unread_bytes() > MAX_UNREAD_BYTES:
                self._close_connection(connection)
            return
        word, arguments = decode_request(line)
        if word is None:
            self._finish(connection, {"error": NO_REQUEST})
        elif line == FOR_AN_AGENT and self._fork_for is not None:
            self._fork_agent(connection)
        elif word in self._local_handlers:
            self._finish(connection, _answer_of(self._local_handlers[word], arguments))
        else:
            connection.request = None
            self._send(encode(Kind.REQUEST, connection.number, line))
            if rest:
                self._send(encode(Kind.REQUEST_DATA, connection.number, rest))

    def _unread_bytes(self) -> int:
        return sum(len(other.request or b"") for other in self._by_descriptor.values())

    def _fork_agent(self, connection: ProgramConnection) -> None:
        assert self._fork_for is not None
        try:
            self._fork_for(connection.descriptor)
        except OSError as error:
            self._finish(connection, {"error": f"cannot start an agent: {error}"})
        else:
            self._close_connection(connection)

    def _finish(self, connection: ProgramConnection, answer: object) -> None:
        """Answer a request that nobody else needs to see."""
        connection.waiting += json.dumps(answer).encode() + b"\n"
        connection.is_ending = True
        self._write(connection)

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


def decode_request(line: bytes) -> tuple[str | None, dict[str, object]]:
    """Return the word after "do" and the other fields of a request; (None, {}) if it is no request.

    A request is a mapping with the string "do", nested at most MAX_REQUEST_DEPTH deep.
    """
    try:
        request = decode_json(line)
    except ValueError:
        return None, {}
    if not isinstance(request, dict) or depth_of(request) > MAX_REQUEST_DEPTH:
        return None, {}
    word = request.pop("do", None)
    return (word, request) if isinstance(word, str) else (None, {})


def depth_of(value: object) -> int:
    """Return how deeply lists and mappings are nested: 0 for a number, 1 for [1]."""
    depth = 0
    level = [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _answer_of(handler: Callable[..., object], arguments: dict[str, object]) -> object:
    """Return a handler's answer, or its error: a request must not end the agent."""
    try:
        return handler(**arguments)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return {"error": str(error)}
