"""Reads the kernel's lists by netlink (dumps), with as few system calls as possible.

A list arrives in datagrams of many messages; the last message is DONE, usually in a datagram of its
own. One call of recvmmsg(2) receives all waiting datagrams. If the kernel reports that the list changed
while it was read, it is read again (NLM_F_DUMP_INTR, include/uapi/linux/netlink.h).
"""

from __future__ import annotations

import _socket
import ctypes
import os
import struct
from itertools import count

from .links import NLMSG_DONE, NLMSG_ERROR

NLM_F_DUMP_INTR = 0x10
MAX_ATTEMPTS = 10
DATAGRAMS, DATAGRAM_BYTES = 8, 1 << 16  # the kernel sends at most 32 KB at once
MSG_WAITFORONE = 0x10000

_libc = ctypes.CDLL(None, use_errno=True)

_ports = count(1 << 24)  # beyond all process ids, which the kernel takes by default

_START = struct.Struct("=IHH")  # length, kind, flags of a message
_ERRNO_OFFSET = 16
_INTERFACE_OFFSET = 20  # in struct tcmsg and struct if_stats_msg alike
_NUMBER = struct.Struct("=i")


class _IoVector(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(_IoVector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_long),  # an int, and the end of struct msghdr
        ("received", ctypes.c_uint),
    )


class Dumps:
    """A netlink socket in the namespace that the caller is in when it is opened."""

    def __init__(self, protocol: int) -> None:
        self._socket = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, protocol)
        self._socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVBUF, 1 << 22)
        # For the second socket of a process the kernel would choose a random port, and so use up a
        # random number.
        self._socket.bind((next(_ports), 0))
        self._buffers = [bytearray(DATAGRAM_BYTES) for _ in range(DATAGRAMS)]
        self._messages = (_Message * DATAGRAMS)()
        for message, buffer in zip(self._messages, self._buffers, strict=True):
            start = (ctypes.c_char * DATAGRAM_BYTES).from_buffer(buffer)
            vector = _IoVector(ctypes.addressof(start), DATAGRAM_BYTES)
            message.vectors, message.vector_count = ctypes.pointer(vector), 1

    def whole(self, request: bytes) -> bytes:
        """Return the whole answer to a request, DONE included. OSError if it is refused."""
        return self._ask(request, None)

    def of_interfaces(self, request: bytes, indexes: frozenset[int]) -> bytes:
        """Return only the messages about these interfaces, and DONE."""
        return self._ask(request, indexes)

    def _ask(self, request: bytes, indexes: frozenset[int] | None) -> bytes:
        for _ in range(MAX_ATTEMPTS):
            answer = self._attempt(request, indexes)
            if answer is not None:
                return answer
        raise OSError(0, "the kernel's list changes faster than it can be read")

    def _attempt(self, request: bytes, indexes: frozenset[int] | None) -> bytes | None:
        """Read the list once. None if it changed meanwhile."""
        parts: list[bytes] = []
        is_whole = True
        self._socket.send(request)
        while True:
            for buffer, size in self._receive():
                start = 0
                while start < size:
                    length, kind, flags = _START.unpack_from(buffer, start)
                    if flags & NLM_F_DUMP_INTR:
                        is_whole = False
                    if kind in (NLMSG_DONE, NLMSG_ERROR):
                        _raise_errno(_NUMBER.unpack_from(buffer, start + _ERRNO_OFFSET)[0])
                        parts.append(bytes(buffer[start if indexes is not None else 0 : size]))
                        return b"".join(parts) if is_whole else None
                    end = start + ((length + 3) & ~3)
                    if indexes is not None:
                        (index,) = _NUMBER.unpack_from(buffer, start + _INTERFACE_OFFSET)
                        if index in indexes:
                            parts.append(bytes(buffer[start:end]))
                    start = end
                if indexes is None:
                    parts.append(bytes(buffer[:size]))

    def _receive(self) -> list[tuple[bytearray, int]]:
        """Wait for at least one datagram; return all that have arrived, with their lengths."""
        count: int = _libc.recvmmsg(
            self._socket.fileno(), self._messages, DATAGRAMS, MSG_WAITFORONE, None
        )
        if count < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return [(self._buffers[n], self._messages[n].received) for n in range(count)]


def _raise_errno(number: int) -> None:
    if number < 0:
        raise OSError(-number, os.strerror(-number))
