"""Split the kernel's answer to a netlink dump into messages and attributes.

    message    | length 4 | kind 2 | flags 2 | sequence 4 | port 4 | body ...      | padding |
    attribute  | length 2 | kind 2 | value ...                                     | padding |

A dump is a series of messages that ends with DONE. Numbers are in host byte order. See
netlink(7) and include/uapi/linux/netlink.h.
"""

import os
import struct
from collections.abc import Iterator

from wanlab.errors import PeerError

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_ERRNO = struct.Struct("=i")

_ERROR, _DONE, _OVERRUN = 2, 3, 4  # NLMSG_...
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_INTERRUPTED = 0x10  # NLM_F_DUMP_INTR
_KIND = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER


def request(kind: int, body: bytes) -> bytes:
    """Return the request for a dump of all objects of a kind."""
    return _HEADER.pack(_HEADER.size + len(body), kind, _REQUEST_DUMP, 1, 0) + body


def messages(dump: bytes, kind: int) -> Iterator[bytes]:
    """Yield the bodies of the messages of one whole dump; each must have this kind."""
    offset = 0
    while offset + _HEADER.size <= len(dump):
        length, message_kind, flags, _, _ = _HEADER.unpack_from(dump, offset)
        if length < _HEADER.size or offset + length > len(dump):
            break
        body = dump[offset + _HEADER.size : offset + length]
        if message_kind in (_ERROR, _DONE):
            _refuse_failure(body)
        if flags & _INTERRUPTED:
            raise PeerError("the list changed while the kernel dumped it", "read it again")
        if message_kind == _DONE:
            return
        if message_kind == _OVERRUN:
            raise PeerError("the kernel lost messages of a dump")
        if message_kind != kind:
            raise PeerError(
                f"the kernel sent a message of kind {message_kind} in a dump of kind {kind}"
            )
        yield body
        offset += _aligned(length)
    raise PeerError(f"the kernel's answer ends at byte {len(dump)} without DONE")


def dumps(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and body of the messages of several whole dumps."""
    offset, end, was_done = 0, len(data), True
    while offset + _HEADER.size <= end:
        length, kind, flags, _, _ = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size or offset + length > end:
            was_done = False
            break
        body = data[offset + _HEADER.size : offset + length]
        offset += _aligned(length)
        was_done = kind == _DONE
        if kind in (_ERROR, _DONE):
            _refuse_failure(body)
            continue
        if flags & _INTERRUPTED:
            raise PeerError("the list changed while the kernel dumped it", "read it again")
        if kind == _OVERRUN:
            raise PeerError("the kernel lost messages of a dump")
        yield kind, body
    if not was_done or offset < end:
        raise PeerError(f"the kernel's answer ends at byte {end} without DONE")


def attributes(data: bytes) -> dict[int, bytes]:
    """Return the attributes in the data, by kind."""
    values, offset = {}, 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size or offset + length > len(data):
            raise PeerError(f"the kernel sent an attribute of {length} bytes that does not fit")
        values[kind & _KIND] = data[offset + _ATTRIBUTE.size : offset + length]
        offset += _aligned(length)
    return values


def text(value: bytes) -> str:
    """Decode a C string, such as the name of a qdisc."""
    try:
        return value.partition(b"\0")[0].decode("ascii")
    except UnicodeDecodeError as error:
        raise PeerError(f"the kernel sent a name that is not ASCII text: {value!r}") from error


def _refuse_failure(body: bytes) -> None:
    (number,) = _ERRNO.unpack_from(body) if len(body) >= _ERRNO.size else (0,)
    if number < 0:
        raise PeerError(f"the kernel refused a dump: {os.strerror(-number)}")


def _aligned(length: int) -> int:
    return (length + 3) & ~3
