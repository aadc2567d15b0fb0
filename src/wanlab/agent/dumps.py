"""Asks the kernel for lists by netlink, again and again, with as few system calls as that takes.

A list comes in pieces of many messages; the last message is DONE, mostly in a piece of its own. One call
fetches all pieces that are there (recvmmsg(2)). If the kernel says that the list changed while it was
being read, it is read again (include/uapi/linux/netlink.h).
"""

from __future__ import annotations

import _socket
import ctypes
import os
import struct
from itertools import count

from .links import NLMSG_DONE, NLMSG_ERROR

NLM_F_DUMP_INTR = 0x10
MOST_ATTEMPTS = 10
PIECES, PIECE_BYTES = 8, 1 << 16  # the kernel makes pieces of 32 KB at most
MSG_WAITFORONE = 0x10000

_libc = ctypes.CDLL(None, use_errno=True)

_numbers = count(1 << 24)  # beyond the numbers of processes

_START = struct.Struct("=IHH")  # length, kind, flags of a message
_ERRNO_AT = 16
_INTERFACE_AT = 20  # in struct tcmsg and struct if_stats_msg alike
_NUMBER = struct.Struct("=i")


class _Place(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("places", ctypes.POINTER(_Place)),
        ("place_count", ctypes.c_size_t),
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
        # A second socket of a process gets its number by chance: one random number less for the others.
        self._socket.bind((next(_numbers), 0))
        self._buffers = [bytearray(PIECE_BYTES) for _ in range(PIECES)]
        self._messages = (_Message * PIECES)()
        for message, buffer in zip(self._messages, self._buffers, strict=True):
            start = (ctypes.c_char * PIECE_BYTES).from_buffer(buffer)
            place = _Place(ctypes.addressof(start), PIECE_BYTES)
            message.places, message.place_count = ctypes.pointer(place), 1

    def whole(self, request: bytes) -> bytes:
        """All that answers a request, DONE included. OSError if it is refused."""
        return self._ask(request, None)

    def of_interfaces(self, request: bytes, numbers: frozenset[int]) -> bytes:
        """Of the answer only the messages that tell of these interfaces, and DONE."""
        return self._ask(request, numbers)

    def _ask(self, request: bytes, numbers: frozenset[int] | None) -> bytes:
        for _ in range(MOST_ATTEMPTS):
            answer = self._attempt(request, numbers)
            if answer is not None:
                return answer
        raise OSError(0, "what the kernel lists changes faster than it can be read")

    def _attempt(self, request: bytes, numbers: frozenset[int] | None) -> bytes | None:
        """None if the list changed meanwhile."""
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
                        _refuse(_NUMBER.unpack_from(buffer, start + _ERRNO_AT)[0])
                        parts.append(bytes(buffer[start if numbers is not None else 0 : size]))
                        return b"".join(parts) if is_whole else None
                    end = start + ((length + 3) & ~3)
                    if numbers is not None:
                        (number,) = _NUMBER.unpack_from(buffer, start + _INTERFACE_AT)
                        if number in numbers:
                            parts.append(bytes(buffer[start:end]))
                    start = end
                if numbers is None:
                    parts.append(bytes(buffer[:size]))

    def _receive(self) -> list[tuple[bytearray, int]]:
        """The pieces that are there, at least one, with their lengths."""
        count: int = _libc.recvmmsg(
            self._socket.fileno(), self._messages, PIECES, MSG_WAITFORONE, None
        )
        if count < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return [(self._buffers[n], self._messages[n].received) for n in range(count)]


def _refuse(number: int) -> None:
    if number < 0:
        raise OSError(-number, os.strerror(-number))
