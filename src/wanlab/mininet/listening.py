"""Waiting until a server accepts connections."""

from __future__ import annotations

import socket
from typing import Protocol

from .interfaces import NodeOfInterface
from .log import error, info, warn
from .namespace import inside
from .pause import pause

RETRY_INTERVAL_S = 0.5
LONG_WAIT_S = 60.0
"""After this time, a wait prints a warning: without a limit, it lasts for ever if no server starts."""


class ServerNode(Protocol):
    """A node that a server runs on."""

    def IP(self) -> str | None: ...


def waitListening(
    client: NodeOfInterface | None = None,
    server: str | ServerNode = "127.0.0.1",
    port: int | str = 80,
    timeout: float | None = None,
) -> bool:
    """Wait until a server accepts connections from a client, which is a node or the root namespace.

    Returns whether it did within `timeout` seconds.
    """
    address = server if isinstance(server, str) else server.IP()
    number = (
        socket.getservbyname(port) if isinstance(port, str) and not port.isdigit() else int(port)
    )
    waited_s = 0.0
    while True:
        with inside(client.namespace if client else ""):
            attempt = socket.socket()
        with attempt:
            attempt.settimeout(RETRY_INTERVAL_S)
            if attempt.connect_ex((address, number)) == 0:
                return True
        if timeout is not None and waited_s >= timeout:
            error(f"could not connect to {server} on port {number}\n")
            return False
        info(".")
        if waited_s == LONG_WAIT_S:
            warn(
                f"*** Warning: {server} does not accept connections on port {number} after "
                f"{waited_s:.0f} s (is the server's program installed, and running?)\n"
            )
        pause(RETRY_INTERVAL_S)
        waited_s += RETRY_INTERVAL_S
