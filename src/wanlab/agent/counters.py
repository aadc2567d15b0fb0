"""Reads counters and returns them as raw bytes; `wanlab.measure` decodes them outside the machine.

Reading takes no virtual time: the agent is not charged for anything.
"""

from __future__ import annotations

import _socket
import os
import struct
from collections.abc import Callable

from . import ethtool, integrity, system
from .dumps import Dumps
from .links import NETLINK_ROUTE, NETLINK_SOCK_DIAG, NLM_F_DUMP, NLM_F_REQUEST
from .messages import CHUNK_BYTES
from .namespaces import Namespaces

PART = struct.Struct("<I")
Source = list[object]
Reader = Callable[[], bytes]

RTM_GETQDISC, RTM_GETTCLASS = 38, 42
TCA_KIND = 1
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=B3xiIII")  # family, ifindex, handle, parent, info
_KIND_OFFSET = _HEADER.size + _TCMSG.size  # the kind is the first attribute of a qdisc


class Counters:
    """Reads counters with sockets and files that stay open, so that a sample takes few system calls."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._dumps: dict[tuple[str, int], Dumps] = {}
        self._files: dict[tuple[str, str], int] = {}

    def read(self, sources: list[Source]) -> bytes:
        """Return the reading of each source (see `reader`), each after its length in 4 bytes."""
        parts = []
        for source in sources:
            part = self.reader(source)()
            parts += [PART.pack(len(part)), part]
        return b"".join(parts)

    def reader(self, source: Source) -> Reader:
        """Return a function that reads a source. A source is one of

        ["route", NODE, REQUEST]               the whole answer to a netlink request (hexadecimal)
        ["sock_diag", NODE, REQUEST]           the same for sock_diag(7)
        ["interfaces", NODE, REQUEST, INDEXES] only the messages about these interfaces
        ["queues", NODE, INDEXES, KINDS]       their qdiscs, and the classes of qdiscs of these kinds
        ["index", NODE, PORT]                  the number of an interface
        ["tso", NODE, PORT]                    1 if the port segments TCP, else 0
        ["file", NODE, PATH]                   its content; not in /sys, which each node mounts itself
        ["netns", NODE]                        the inode number of its network namespace
        ["log", NODE]                          the kernel's messages
        ["changed_programs", NODE]             a line for each program that differs from the computer's
        """
        kind, node, *rest = source
        node = str(node)
        if kind == "file":
            (path,) = rest
            return lambda: self._file(node, str(path))
        if kind == "index":
            (port,) = rest
            return lambda: self._index(node, str(port))
        if kind == "tso":
            (port,) = rest
            return lambda: self._has_tso(node, str(port))
        if kind == "netns":
            return lambda: str(os.fstat(self._namespaces.net(node)).st_ino).encode()
        if kind == "log":
            return system.kernel_log
        if kind == "changed_programs":
            return self._changed_programs
        if kind == "queues":
            indexes, kinds = rest
            return self._queues(node, _indexes(indexes), [str(name) for name in _list(kinds)])
        dumps = self._netlink(node, NETLINK_SOCK_DIAG if kind == "sock_diag" else NETLINK_ROUTE)
        request = bytes.fromhex(str(rest[0]))
        if kind == "interfaces":
            interfaces = _indexes(rest[1])
            return lambda: dumps.of_interfaces(request, interfaces)
        if kind in ("route", "sock_diag"):
            return lambda: dumps.whole(request)
        raise ValueError(f"there is no counter source {kind}")

    def _queues(self, node: str, indexes: frozenset[int], kinds: list[str]) -> Reader:
        dumps = self._netlink(node, NETLINK_ROUTE)
        queues = _dump_request(RTM_GETQDISC, 0)
        classes = {index: _dump_request(RTM_GETTCLASS, index) for index in indexes}
        # An attribute: length, TCA_KIND, and the name with a zero byte after it.
        kind_attributes = frozenset(
            struct.pack("=HH", 5 + len(kind), TCA_KIND) + kind.encode() + b"\0" for kind in kinds
        )

        def read() -> bytes:
            qdiscs = dumps.of_interfaces(queues, indexes)
            return qdiscs + b"".join(
                dumps.whole(classes[index]) for index in _with_kinds(qdiscs, kind_attributes)
            )

        return read

    def _index(self, node: str, port: str) -> bytes:
        with self._namespaces.inside_net(node):
            return str(_socket.if_nametoindex(port)).encode()

    def _has_tso(self, node: str, port: str) -> bytes:
        with self._namespaces.inside_net(node):
            return str(int(ethtool.has_tso(port))).encode()

    def _netlink(self, node: str, protocol: int) -> Dumps:
        key = (node, protocol)
        if key not in self._dumps:
            with self._namespaces.inside_net(node):
                self._dumps[key] = Dumps(protocol)
        return self._dumps[key]

    def _changed_programs(self) -> bytes:
        own, *others = self._namespaces.mounts()
        return "\n".join(integrity.changed_programs(own, others)).encode(errors="replace")

    def _file(self, node: str, path: str) -> bytes:
        key = (node, path)
        if key not in self._files:
            with self._namespaces.inside_net(node):
                self._files[key] = integrity.open_for_reading(path)
        descriptor = self._files[key]
        parts = []
        position = 0
        while part := os.pread(descriptor, CHUNK_BYTES, position):
            parts.append(part)
            position += len(part)
        return b"".join(parts)


def _with_kinds(qdiscs: bytes, kind_attributes: frozenset[bytes]) -> list[int]:
    """Return the indexes of the interfaces that have a qdisc of one of the kinds, each once."""
    indexes: dict[int, None] = {}
    start = 0
    while start + _KIND_OFFSET + 4 <= len(qdiscs):
        (length,) = struct.unpack_from("=I", qdiscs, start)
        (size,) = struct.unpack_from("=H", qdiscs, start + _KIND_OFFSET)
        if qdiscs[start + _KIND_OFFSET : start + _KIND_OFFSET + size] in kind_attributes:
            indexes[_TCMSG.unpack_from(qdiscs, start + _HEADER.size)[1]] = None
        start += (length + 3) & ~3
    return list(indexes)


def _dump_request(kind: int, interface: int) -> bytes:
    body = _TCMSG.pack(0, interface, 0, 0, 0)
    return _HEADER.pack(_HEADER.size + len(body), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _indexes(value: object) -> frozenset[int]:
    return frozenset(int(str(index)) for index in _list(value))
