"""Connections from a machine to controllers on the user's own computer: the host service's "connect".

    {"do": "connect", "address": "127.0.0.1", "port": 6653}  ->  {"connected": true} or {"error": "..."}

Programs may connect only to controllers that the topology marks as "outside", and to the addresses in
`Network(allow_connect=...)`.
While one is connected virtual time is never faster than the real clock, on which the controller lives,
and the run does not repeat.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterable

from wanlab.errors import WanlabError
from wanlab.topology.model import Topology

from .host_service import Connection

CHUNK = 65536
PATIENCE_REAL_S = 3.0


class Outside:
    """All connections that are open. `pace` is called when there are some, and when there are none."""

    def __init__(self, pace: Callable[[], None]) -> None:
        self._pace = pace
        self._open: dict[socket.socket, Connection] = {}
        self.allowed: set[tuple[str, int]] = set()

    @property
    def is_reached(self) -> bool:
        """Whether somebody is connected."""
        return bool(self._open)

    def take(self, connection: Connection) -> None:
        """A program wants to be connected."""
        address, port = str(connection.request.get("address")), connection.request.get("port")
        if not isinstance(port, int) or (address, port) not in self.allowed:
            connection.answer(
                {"error": f"{address}:{port} is no controller outside in this topology"}
            )
            return
        try:
            end = socket.create_connection((address, port), timeout=PATIENCE_REAL_S)
        except OSError as error:
            connection.answer({"error": f"{address}:{port}: {error.strerror or error}"})
            return
        end.settimeout(None)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.on_data = lambda data: self._say(end, data)
        connection.on_end = lambda: self._close(end)
        self._open[end] = connection
        connection.send(json.dumps({"connected": True}).encode() + b"\n")
        self._pace()

    def serve(self) -> None:
        """Passes on what has come."""
        for end, connection in list(self._open.items()):
            try:
                data = end.recv(CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if data:
                connection.send(data)
            else:
                connection.end()
                self._close(end)

    def close(self) -> None:
        for end in list(self._open):
            self._close(end)

    def _say(self, end: socket.socket, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it has gone, which reading tells
            end.sendall(data)

    def _close(self, end: socket.socket) -> None:
        if self._open.pop(end, None) is not None:
            end.close()
            self._pace()


def read_address(text: str) -> tuple[str, int]:
    """ "127.0.0.1:6653" """
    address, _, port = text.rpartition(":")
    if not address or not port.isdigit() or not 0 < int(port) < 65536:
        raise WanlabError(
            f'"{text}" does not say where to connect to', 'ADDRESS:PORT, as in "127.0.0.1:6653"'
        )
    return address, int(port)


def outside_of(topology: Topology) -> Iterable[tuple[str, int]]:
    """Where its controllers outside are."""
    return ((it.address, it.port) for it in topology.controllers if it.kind == "outside")
