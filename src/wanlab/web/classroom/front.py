"""Passes each connection to the process of its student, or serves it in the hub.

The hub reads a connection until the header of the first request is complete. The cookie in this header
identifies the student. Addresses do not contain the student, so nobody can guess the address of another
one. The hub then sends the descriptor to the student's process, with the bytes that it has read. That
process checks the request again, and closes the connection after it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from urllib.parse import parse_qs

import h11

from ..auth import cookie_in
from ..connections import LimitedProtocol

Serve = Callable[[int, bytes], bool]
"""Serves a connection, named by its descriptor and first bytes; returns false if it cannot."""
FindServer = Callable[[str], Serve | None]
"""Returns the function that serves connections with a cookie; None stands for the hub."""
MAX_HEADER_BYTES = 64 << 10  # as uvicorn has it
MAX_READ_BYTES = 16 << 10
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class FrontProtocol(LimitedProtocol):
    """A connection until its user is known. The hub serves all but students' connections itself."""

    find_server: FindServer
    cookie_name: str

    _received = b""
    _is_ours = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # What is read must fit into one message; asyncio reads 256 KB at once otherwise.
        transport.max_size = MAX_READ_BYTES  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        if self._is_ours:
            super().data_received(data)
            return
        self._received += data
        request = _first_request(self._received)
        if request is None:
            if len(self._received) > MAX_HEADER_BYTES:
                self.transport.abort()
            return
        serve = None if isinstance(request, h11.RemoteProtocolError) else self._server_of(request)
        if serve is None:
            self._is_ours = True
            super().data_received(self._received)
        else:
            self._pass_on(serve)

    def _server_of(self, request: h11.Request) -> Serve | None:
        path, _, query = request.target.partition(b"?")
        if path == b"/" and "token" in parse_qs(query.decode("latin-1"), keep_blank_values=True):
            return None
        lines = [value.decode("latin-1") for name, value in request.headers if name == b"cookie"]
        cookie = cookie_in(lines, self.cookie_name)
        return None if cookie is None else type(self).find_server(cookie)

    def _pass_on(self, serve: Serve) -> None:
        connection = self.transport.get_extra_info("socket")
        file = os.dup(connection.fileno())
        try:
            if not serve(file, self._received):
                self.transport.write(BUSY)
                self.transport.close()
                return
        finally:
            os.close(file)
        self.transport.abort()  # closes our descriptor; the connection lives on


def front_protocol(cookie_name: str, find_server: FindServer) -> type[FrontProtocol]:
    """Return the class of the connections of a hub."""
    attributes = {"cookie_name": cookie_name, "find_server": staticmethod(find_server)}
    return type("HubProtocol", (FrontProtocol,), attributes)


def _first_request(received: bytes) -> h11.Request | h11.RemoteProtocolError | None:
    """Return the first request of a connection, or why it is invalid; None if it is not complete yet."""
    parser = h11.Connection(h11.SERVER, MAX_HEADER_BYTES)
    parser.receive_data(received)
    try:
        event = parser.next_event()
    except h11.RemoteProtocolError as error:
        return error
    return event if isinstance(event, h11.Request) else None
