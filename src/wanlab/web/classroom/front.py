"""Pass each connection to the process of its student, or serve it in the hub.

The hub reads a connection until the header of the first request is complete. The cookie in this
header identifies the student. URLs do not, so nobody can guess the URL of another student. The hub
then sends the descriptor to the student's process, together with the bytes that it has read. That
process parses the request again from its first byte, checks it, and closes the connection after it
has served this request.

All other connections are the hub's own: the teacher's, those without a known cookie, those that sign
in with a token, and those whose first request is invalid.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from urllib.parse import parse_qs

import h11

from ..server.auth import ServerAddress, cookie_in
from ..server.connections import LimitedProtocol

ServeConnection = Callable[[int, bytes], bool]
"""Serves a connection, given its descriptor and the bytes that were already read from it.

Returns False if it cannot. The descriptor stays the caller's, who closes it.
"""

FindServer = Callable[[str], ServeConnection | None]
"""Returns the function that serves connections with a cookie; None if the hub does."""

MAX_HEADER_BYTES = 64 << 10  # as in uvicorn
MAX_READ_BYTES = 16 << 10
"""The size of a read. A header and one more read must fit into a message (`messages.MAX_BYTES`)."""

UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def front_protocol(address: ServerAddress, find_server: FindServer) -> type[FrontProtocol]:
    """Return the class of a hub's connections.

    uvicorn makes its connections from a class, with its own arguments, so the hub's settings are
    attributes of the class.
    """
    attributes = {"address": address, "find_server": staticmethod(find_server)}
    return type("HubProtocol", (FrontProtocol,), attributes)


class FrontProtocol(LimitedProtocol):
    """A connection of a hub, to be passed on once its student is known; see `front_protocol`."""

    address: ServerAddress
    find_server: FindServer

    _received = b""
    """All bytes read before it is decided where the connection is served."""
    _is_served_here = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Limit how much is read at once: asyncio's own limit is 256 KiB."""
        super().connection_made(transport)
        transport.max_size = MAX_READ_BYTES  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Decide who serves the connection once its first request is known."""
        if self._is_served_here:
            super().data_received(data)
            return
        self._received += data
        try:
            request = _first_request(self._received)
        except h11.RemoteProtocolError:
            self._serve_here()  # uvicorn finds the same error and sends the answer
            return
        if request is None:
            return  # LimitedProtocol closes the connection if the rest does not arrive in time
        serve = self._student_server(request)
        if serve is None:
            self._serve_here()
        else:
            self._pass_on(serve)

    def _student_server(self, request: h11.Request) -> ServeConnection | None:
        """Return how to serve a connection with this first request; None if the hub serves it."""
        if self._signs_in(request):
            return None
        lines = [value.decode("latin-1") for name, value in request.headers if name == b"cookie"]
        cookie = cookie_in(lines, self.address.cookie_name)
        return None if cookie is None else type(self).find_server(cookie)

    def _signs_in(self, request: h11.Request) -> bool:
        """Return whether this is a link with a token: it replaces the cookie that a browser has now."""
        path, _, query = request.target.decode("latin-1").partition("?")
        return path == f"{self.address.path}/" and "token" in parse_qs(
            query, keep_blank_values=True
        )

    def _serve_here(self) -> None:
        """Serve the connection in the hub."""
        self._is_served_here = True
        super().data_received(self._received)

    def _pass_on(self, serve: ServeConnection) -> None:
        """Have the connection served elsewhere; answer with status 503 if that fails."""
        descriptor = os.dup(self.transport.get_extra_info("socket").fileno())
        try:
            is_passed_on = serve(descriptor, self._received)
        finally:
            os.close(descriptor)
        if is_passed_on:
            self.transport.abort()  # only closes our descriptor: the student's process has another
        else:
            self.transport.write(UNAVAILABLE)
            self.transport.close()


def _first_request(received: bytes) -> h11.Request | None:
    """Return the first request of a connection; None if its header is not complete yet.

    h11.RemoteProtocolError if it is invalid, or incomplete after MAX_HEADER_BYTES.
    """
    parser = h11.Connection(h11.SERVER, MAX_HEADER_BYTES)
    parser.receive_data(received)
    event = parser.next_event()
    return event if isinstance(event, h11.Request) else None
