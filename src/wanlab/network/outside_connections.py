"""Connections from a machine to controllers on the user's computer: the request "connect".

    {"do": "connect", "address": "127.0.0.1", "port": 6653}  ->  {"connected": true} or {"error": "..."}

An error with `"is_allowed": true` comes from the user's computer.

Programs may connect only to controllers that the topology marks as "outside", and to the addresses
in `Network(allow_connect=...)`. The controller lives on the real clock: while one is connected,
virtual time never runs ahead of it, and the run cannot be repeated exactly.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterable

from wanlab.topology.model import Topology

from .host_service import Connection, HostService
from .runtime import Runtime

CHUNK = 65536
CONNECT_TIMEOUT_REAL_S = 3.0


class OutsideConnections:
    """All open connections of a running network."""

    def __init__(self, runtime: Runtime, host_service: HostService) -> None:
        self._runtime = runtime
        self._host_service = host_service
        self._open: dict[socket.socket, Connection] = {}
        self._allowed: frozenset[tuple[str, int]] = frozenset()

    def allow(self, addresses: Iterable[tuple[str, int]]) -> None:
        """Let programs connect to these addresses, and to no others, from now on."""
        self._allowed = frozenset(addresses)
        if self._allowed:
            self._host_service["connect"] = self.accept
            self._runtime.machine.channel.serve = self.serve

    def accept(self, connection: Connection) -> None:
        """Handle a program's request to be connected."""
        address, port = str(connection.request.get("address")), connection.request.get("port")
        if not isinstance(port, int) or (address, port) not in self._allowed:
            connection.answer(
                {"error": f"this topology has no outside controller at {address}:{port}"}
            )
            return
        try:
            outside = socket.create_connection((address, port), timeout=CONNECT_TIMEOUT_REAL_S)
        except OSError as error:
            reason = f"{address}:{port}: {error.strerror or error}"
            connection.answer({"error": reason, "is_allowed": True})
            return
        outside.settimeout(None)
        outside.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.on_data = lambda data: self._send(outside, data)
        connection.on_end = lambda: self._close(outside)
        self._open[outside] = connection
        connection.send(json.dumps({"connected": True}).encode() + b"\n")
        self._pace()

    def serve(self) -> None:
        """Pass on data that has arrived from outside."""
        for outside, connection in list(self._open.items()):
            try:
                data = outside.recv(CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if data:
                connection.send(data)
            else:
                connection.end()
                self._close(outside)

    def close(self) -> None:
        for outside in list(self._open):
            self._close(outside)

    def _send(self, outside: socket.socket, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a closed connection is noticed when reading
            outside.sendall(data)

    def _close(self, outside: socket.socket) -> None:
        if self._open.pop(outside, None) is not None:
            outside.close()
            self._pace()

    def _pace(self) -> None:
        self._runtime.pace_to_real(bool(self._open), "a connection outside")


def outside_controllers(topology: Topology) -> Iterable[tuple[str, int]]:
    """Return the addresses of the topology's outside controllers."""
    return (
        (controller.address, controller.port)
        for controller in topology.controllers
        if controller.kind == "outside"
    )
