"""Sets up links by rtnetlink, with the few messages that building a network needs.

Running `ip` for each step would make large networks slow to start (10 ms each in the embedded
machine). Two messages make a veth pair whose ends have their names and MAC addresses, are up, and are
in their namespaces and bridge (net/core/rtnetlink.c, drivers/net/veth.c). Layouts: linux/netlink.h,
if_link.h, if_addr.h.

    length u32 | type u16 | flags u16 | sequence u32 | port u32 | body, padded to 4
    attribute: length u16 | type u16 | value, padded to 4
"""

from __future__ import annotations

import _socket  # `socket` costs twice the start-up time
import os
import struct
from collections.abc import Iterable

NETLINK_ROUTE = 0
NETLINK_SOCK_DIAG = 4

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_EXCL, NLM_F_CREATE = 0x200, 0x400
NLMSG_ERROR, NLMSG_DONE = 2, 3

RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR = 16, 17, 20
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINK, IFLA_MASTER, IFLA_LINKINFO = 1, 3, 4, 5, 10, 18
IFLA_NET_NS_FD, IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES = 28, 31, 32
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IFLA_BR_FORWARD_DELAY, IFLA_BR_STP_STATE, IFLA_BR_PRIORITY, IFLA_BR_VLAN_FILTERING = 1, 5, 6, 7
IFLA_VLAN_ID = 1
IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST = 1, 2, 4
IFA_F_NODAD = 2
IFF_UP = 1

_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBi")


def attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)


def text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def end_of_pair(name: str, mac: str | None, mtu: int | None, queues: int | None = None) -> bytes:
    """Return the attributes of one end of a pair."""
    parts = [text(IFLA_IFNAME, name)]
    if mac:
        parts.append(attribute(IFLA_ADDRESS, mac_bytes(mac)))
    if mtu:
        parts.append(number(IFLA_MTU, mtu))
    if queues:
        parts += [number(IFLA_NUM_TX_QUEUES, queues), number(IFLA_NUM_RX_QUEUES, queues)]
    return b"".join(parts)


def new_link(attributes: bytes) -> tuple[int, int, bytes]:
    """Return the request for a link that is up from the start."""
    return (
        RTM_NEWLINK,
        NLM_F_CREATE | NLM_F_EXCL,
        _LINK.pack(0, 0, 0, IFF_UP, IFF_UP) + attributes,
    )


def veth(first: bytes, second: bytes) -> tuple[int, int, bytes]:
    """Return the request for a pair with these attributes of its ends; only the first is up."""
    peer = _LINK.pack(0, 0, 0, 0, 0) + second
    info = text(IFLA_INFO_KIND, "veth") + attribute(IFLA_INFO_DATA, attribute(VETH_INFO_PEER, peer))
    return new_link(first + attribute(IFLA_LINKINFO, info))


def bridge(
    name: str, stp: bool, priority: int | None, vlan_filtering: bool = False
) -> tuple[int, int, bytes]:
    data = number(IFLA_BR_STP_STATE, int(stp))
    if not stp:
        data += number(IFLA_BR_FORWARD_DELAY, 0)
    if priority is not None:
        data += attribute(IFLA_BR_PRIORITY, struct.pack("=H", priority))
    if vlan_filtering:
        data += attribute(IFLA_BR_VLAN_FILTERING, b"\1")
    info = text(IFLA_INFO_KIND, "bridge") + attribute(IFLA_INFO_DATA, data)
    return new_link(text(IFLA_IFNAME, name) + attribute(IFLA_LINKINFO, info))


def vlan_interface(name: str, port: int, vlan: int) -> tuple[int, int, bytes]:
    """Return the request for a VLAN interface on the port with this index."""
    data = attribute(IFLA_VLAN_ID, struct.pack("=H", vlan))
    info = text(IFLA_INFO_KIND, "vlan") + attribute(IFLA_INFO_DATA, data)
    attributes = text(IFLA_IFNAME, name) + number(IFLA_LINK, port)
    return new_link(attributes + attribute(IFLA_LINKINFO, info))


def change_link(
    index: int, up: bool | None = None, attributes: bytes = b""
) -> tuple[int, int, bytes]:
    """Return the request to change a link; if `index` is 0, an attribute names the link."""
    flags, mask = (0, 0) if up is None else (IFF_UP if up else 0, IFF_UP)
    return RTM_NEWLINK, 0, _LINK.pack(0, 0, index, flags, mask) + attributes


def remove_link(name: str) -> tuple[int, int, bytes]:
    return RTM_DELLINK, 0, _LINK.pack(0, 0, 0, 0, 0) + text(IFLA_IFNAME, name)


def new_address(index: int, address: str) -> tuple[int, int, bytes]:
    """Return the request for an IPv4 or IPv6 address with its prefix length.

    An IPv6 address can be used at once: a topology's addresses need no search for duplicates.
    """
    plain, _, prefix_text = address.partition("/")
    family = _socket.AF_INET6 if ":" in plain else _socket.AF_INET
    packed = _socket.inet_pton(family, plain)
    prefix = int(prefix_text or len(packed) * 8)
    flags = IFA_F_NODAD if family == _socket.AF_INET6 else 0
    body = _ADDRESS.pack(family, prefix, flags, 0, index)
    body += attribute(IFA_LOCAL, packed) + attribute(IFA_ADDRESS, packed)
    if family == _socket.AF_INET and prefix < 31:
        host_bits = (1 << (32 - prefix)) - 1
        broadcast = int.from_bytes(packed, "big") | host_bits
        body += attribute(IFA_BROADCAST, broadcast.to_bytes(4, "big"))
    return RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, body


class Netlink:
    """A netlink socket in the namespace in which it is opened."""

    def __init__(self, protocol: int = NETLINK_ROUTE) -> None:
        self._socket = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, protocol)
        self._socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVBUF, 1 << 22)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, kind: int, flags: int, body: bytes) -> None:
        """Send a request and wait for its acknowledgement; OSError if it is refused."""
        self._sequence += 1
        self._socket.send(
            _HEADER.pack(
                _HEADER.size + len(body), kind, flags | NLM_F_REQUEST | NLM_F_ACK, self._sequence, 0
            )
            + body
        )
        for answer, content in _messages(self._socket.recv(65536)):
            if answer == NLMSG_ERROR:
                (error,) = struct.unpack_from("=i", content)
                if error:
                    raise OSError(-error, os.strerror(-error))

    def dump(self, request: bytes) -> bytes:
        """Send a complete request; return the whole answer, raw, NLMSG_DONE included."""
        self._socket.send(request)
        parts: list[bytes] = []
        while True:
            data = self._socket.recv(1 << 20)
            parts.append(data)
            for answer, content in _messages(data):
                if answer == NLMSG_ERROR:
                    (error,) = struct.unpack_from("=i", content)
                    raise OSError(-error, os.strerror(-error))
                if answer == NLMSG_DONE:
                    return b"".join(parts)


def _messages(data: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield (type, body) of each message in a datagram."""
    start = 0
    while start + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, start)
        yield kind, data[start + _HEADER.size : start + length]
        start += (length + 3) & ~3
