"""Where programs in the machine ask the user's side for something: a Unix socket, /run/wanlab/desk.

A program connects and says, in one line of JSON, what it wants: {"do": "line", "prompt": "mininet> "}.
After that the connection carries bytes both ways, whatever the two have agreed on. Each connection is
a visit and travels under a number of its own. What the agent knows itself, it answers itself. A program
that says {"do": "agent"} gets one for itself: its connection becomes the channel to a fork of this one.
"""

from __future__ import annotations

import _socket  # `socket` costs twice the start-up time
import json
import os
import select
from collections.abc import Callable

from .messages import Kind, encode

ADDRESS = "/run/wanlab/desk"
FOR_AN_AGENT = b'{"do": "agent"}'
CHUNK = 65536
MOST_REQUEST_BYTES = 1 << 20
MOST_WAITING = 128


class Visit:  # a plain class: `dataclasses` would cost a tenth of a machine's start
    """One connection. `request` collects its first line, None once that has been passed on."""

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self.descriptor = descriptor
        self.request: bytearray | None = bytearray()
        self.waiting = bytearray()
        self.is_ending = False


class Desk:
    """Listens from the start. `send` passes a frame to the machine side."""

    def __init__(
        self,
        poll: select.epoll,
        send: Callable[[bytes], None],
        own: dict[str, Callable[..., object]] | None = None,
        fork_for: Callable[[int], None] | None = None,
        address: str = ADDRESS,
    ) -> None:
        self._own = own or {}
        self._fork_for = fork_for
        self._poll = poll
        self._send = send
        self._number = 0
        self._by_descriptor: dict[int, Visit] = {}
        self._by_number: dict[int, Visit] = {}
        self._socket = _socket.socket(
            _socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK
        )
        self._socket.bind(address)
        self._socket.listen(MOST_WAITING)
        self._poll.register(self._socket.fileno(), select.EPOLLIN)

    def owns(self, descriptor: int) -> bool:
        return descriptor == self._socket.fileno() or descriptor in self._by_descriptor

    def ready(self, descriptor: int, events: int) -> None:
        """One of ours can be read or written."""
        if descriptor == self._socket.fileno():
            self._welcome()
            return
        visit = self._by_descriptor[descriptor]
        if events & select.EPOLLOUT:
            self._write(visit)
        if events & ~select.EPOLLOUT and visit.number in self._by_number:
            self._read(visit)

    def answer(self, number: int, data: bytes) -> None:
        """Bytes for a visitor; one that has left gets nothing."""
        visit = self._by_number.get(number)
        if visit is not None:
            visit.waiting += data
            self._write(visit)

    def answer_end(self, number: int) -> None:
        visit = self._by_number.get(number)
        if visit is not None:
            visit.is_ending = True
            self._write(visit)

    def _welcome(self) -> None:
        try:
            descriptor, _ = self._socket._accept()  # type: ignore[attr-defined]
        except BlockingIOError:
            return
        os.set_blocking(descriptor, False)
        self._number += 1
        visit = Visit(self._number, descriptor)
        self._by_descriptor[descriptor] = self._by_number[visit.number] = visit
        self._poll.register(descriptor, select.EPOLLIN)

    def _read(self, visit: Visit) -> None:
        try:
            data = os.read(visit.descriptor, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._leave(visit)
        elif visit.request is None:
            self._send(encode(Kind.VISIT_DATA, visit.number, data))
        else:
            self._read_request(visit, visit.request, data)

    def _read_request(self, visit: Visit, request: bytearray, data: bytes) -> None:
        request += data
        line, end, rest = bytes(request).partition(b"\n")
        if end:
            if self._hand_over(visit, line) or self._answer_ourselves(visit, line):
                return
            visit.request = None
            self._send(encode(Kind.VISIT, visit.number, line))
            if rest:
                self._send(encode(Kind.VISIT_DATA, visit.number, rest))
        elif len(request) > MOST_REQUEST_BYTES:
            self._leave(visit)

    def _hand_over(self, visit: Visit, line: bytes) -> bool:
        if self._fork_for is None or line != FOR_AN_AGENT:
            return False
        self._fork_for(visit.descriptor)
        self._leave(visit)
        return True

    def _answer_ourselves(self, visit: Visit, line: bytes) -> bool:
        try:
            request = json.loads(line)
            answer = self._own[request.pop("do")](**request)
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        visit.waiting += json.dumps(answer).encode() + b"\n"
        visit.is_ending = True
        self._write(visit)
        return True

    def _write(self, visit: Visit) -> None:
        try:
            while visit.waiting:
                del visit.waiting[: os.write(visit.descriptor, visit.waiting[:CHUNK])]
        except BlockingIOError:
            self._poll.modify(visit.descriptor, select.EPOLLIN | select.EPOLLOUT)
            return
        except OSError:
            self._leave(visit)
            return
        self._poll.modify(visit.descriptor, select.EPOLLIN)
        if visit.is_ending:
            self._leave(visit)

    def _leave(self, visit: Visit) -> None:
        self._poll.unregister(visit.descriptor)
        os.close(visit.descriptor)
        del self._by_descriptor[visit.descriptor], self._by_number[visit.number]
        if visit.request is None:
            self._send(encode(Kind.VISIT_END, visit.number))
