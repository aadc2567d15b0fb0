"""Reads counters when told. Returns raw bytes: understanding them is `measure`'s job, on the other side.

Sampling costs the network nothing on virtual time: no clock is read here and no call fails, both of
which would move time (256 ns and 1 us in the embedded machine).
"""

from __future__ import annotations

import os
import struct

from .links import NETLINK_ROUTE, NETLINK_SOCK_DIAG, Netlink
from .namespaces import Namespaces

PART = struct.Struct("<I")


class Counters:
    """Keeps its sockets and files open, one of each kind per node: a sample is then few system calls."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._sockets: dict[tuple[str, int], Netlink] = {}
        self._files: dict[tuple[str, str], int] = {}

    def read(self, sources: list[list[str]]) -> bytes:
        """One part per source, each after its length in 4 bytes.

        A source is [what, node, argument]: "route" and "sock_diag" send the netlink request given
        in hexadecimal and return the whole answer, "file" returns a file's content.
        """
        parts = []
        for what, node, argument in sources:
            if what == "file":
                part = self._file(node, argument)
            else:
                protocol = {"route": NETLINK_ROUTE, "sock_diag": NETLINK_SOCK_DIAG}[what]
                part = self._netlink(node, protocol).dump(bytes.fromhex(argument))
            parts += [PART.pack(len(part)), part]
        return b"".join(parts)

    def _netlink(self, node: str, protocol: int) -> Netlink:
        key = (node, protocol)
        if key not in self._sockets:
            with self._namespaces.inside_net(node):
                self._sockets[key] = Netlink(protocol)
        return self._sockets[key]

    def _file(self, node: str, path: str) -> bytes:
        key = (node, path)
        if key not in self._files:
            with self._namespaces.inside(node):
                self._files[key] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        descriptor = self._files[key]
        parts = []
        position = 0
        while part := os.pread(descriptor, 65536, position):
            parts.append(part)
            position += len(part)
        return b"".join(parts)
