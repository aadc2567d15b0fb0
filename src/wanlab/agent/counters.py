"""Reads counters when told. Returns raw bytes: understanding them is `measure`'s job, on the other side.

Sampling costs the network nothing on virtual time: no clock is read here and no call fails, both of
which would move time (256 ns and 1 us in the embedded machine).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from . import system
from .dumps import Dumps
from .links import NETLINK_ROUTE, NETLINK_SOCK_DIAG, NLM_F_DUMP, NLM_F_REQUEST
from .namespaces import Namespaces

PART = struct.Struct("<I")
Source = list[object]
Reader = Callable[[], bytes]

RTM_GETQDISC, RTM_GETTCLASS = 38, 42
TCA_KIND = 1
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=B3xiIII")  # family, ifindex, handle, parent, info
_KIND_AT = _HEADER.size + _TCMSG.size  # the kind is the first attribute of a qdisc


class Counters:
    """Keeps its sockets and files open, one of each kind per node: a sample is then few system calls."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._dumps: dict[tuple[str, int], Dumps] = {}
        self._files: dict[tuple[str, str], int] = {}

    def read(self, sources: list[Source]) -> bytes:
        """One part per source, each after its length in 4 bytes. Sources: see `reader`."""
        parts = []
        for source in sources:
            part = self.reader(source)()
            parts += [PART.pack(len(part)), part]
        return b"".join(parts)

    def reader(self, source: Source) -> Reader:
        """What reads a source. A source is one of

        ["route", NODE, REQUEST]               the whole answer to a netlink request (hexadecimal)
        ["sock_diag", NODE, REQUEST]
        ["interfaces", NODE, REQUEST, NUMBERS] the messages that tell of these interfaces
        ["queues", NODE, NUMBERS, KINDS]       their qdiscs; the classes below those of some kinds
        ["file", NODE, PATH]                   its content
        ["log", NODE]                          the kernel's messages
        """
        what, node, *rest = source
        node = str(node)
        if what == "file":
            (path,) = rest
            return lambda: self._file(node, str(path))
        if what == "log":
            return system.kernel_log
        if what == "queues":
            numbers, kinds = rest
            return self._queues(node, _numbers(numbers), [str(kind) for kind in _list(kinds)])
        dumps = self._netlink(node, NETLINK_SOCK_DIAG if what == "sock_diag" else NETLINK_ROUTE)
        request = bytes.fromhex(str(rest[0]))
        if what == "interfaces":
            numbers = _numbers(rest[1])
            return lambda: dumps.of_interfaces(request, numbers)
        if what in ("route", "sock_diag"):
            return lambda: dumps.whole(request)
        raise ValueError(f"there is no source {what}")

    def _queues(self, node: str, numbers: frozenset[int], kinds: list[str]) -> Reader:
        dumps = self._netlink(node, NETLINK_ROUTE)
        queues = _dump_request(RTM_GETQDISC, 0)
        classes = {number: _dump_request(RTM_GETTCLASS, number) for number in numbers}
        # An attribute: length, TCA_KIND, the name with the zero after it.
        wanted = frozenset(
            struct.pack("=HH", 5 + len(kind), TCA_KIND) + kind.encode() + b"\0" for kind in kinds
        )

        def read() -> bytes:
            found = dumps.of_interfaces(queues, numbers)
            return found + b"".join(
                dumps.whole(classes[number]) for number in _with_kinds(found, wanted)
            )

        return read

    def _netlink(self, node: str, protocol: int) -> Dumps:
        key = (node, protocol)
        if key not in self._dumps:
            with self._namespaces.inside_net(node):
                self._dumps[key] = Dumps(protocol)
        return self._dumps[key]

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


def _with_kinds(found: bytes, wanted: frozenset[bytes]) -> list[int]:
    """The interfaces, each once, that have a qdisc of one of the kinds."""
    numbers: dict[int, None] = {}
    start = 0
    while start + _KIND_AT + 4 <= len(found):
        (length,) = struct.unpack_from("=I", found, start)
        (size,) = struct.unpack_from("=H", found, start + _KIND_AT)
        if found[start + _KIND_AT : start + _KIND_AT + size] in wanted:
            numbers[_TCMSG.unpack_from(found, start + _HEADER.size)[1]] = None
        start += (length + 3) & ~3
    return list(numbers)


def _dump_request(kind: int, interface: int) -> bytes:
    body = _TCMSG.pack(0, interface, 0, 0, 0)
    return _HEADER.pack(_HEADER.size + len(body), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _numbers(value: object) -> frozenset[int]:
    return frozenset(int(str(number)) for number in _list(value))
