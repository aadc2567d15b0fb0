"""Read the interfaces of a live network: their addresses, and whether they are up.

struct ifaddrmsg and IFA_... of include/uapi/linux/if_addr.h, struct ifinfomsg of rtnetlink.h, Linux
6.12.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

from wanlab.netlink import framing
from wanlab.netlink.link_dump import RTM_GETLINK, RTM_NEWLINK, request_body
from wanlab.network import Network

RTM_NEWADDR, RTM_GETADDR = 20, 22
_IFADDRMSG = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, index
_IFINFOMSG = struct.Struct("=BxHiII")  # family, type, index, flags, change
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_IFLA_ADDRESS, _IFLA_IFNAME = 1, 3
_IFF_UP, _IFF_RUNNING = 1, 0x40
_SCOPE_LINK = 253
LINKS = framing.request(RTM_GETLINK, request_body()).hex()
ADDRESSES = framing.request(RTM_GETADDR, _IFADDRMSG.pack(0, 0, 0, 0, 0)).hex()


@dataclass(frozen=True)
class Interface:
    """An interface; it is up if it was set up and its link has a carrier."""

    name: str
    mac: str
    is_up: bool
    addresses: tuple[str, ...]


class Address(NamedTuple):
    """An address of an interface."""

    family: int
    prefix: int
    scope: int
    interface: int
    raw: bytes


def address_in(message: bytes) -> Address:
    """Parse one message of the answer to `ADDRESSES`."""
    family, prefix, _, scope, index = _IFADDRMSG.unpack_from(message)
    fields = framing.attributes(message[_IFADDRMSG.size :])
    raw = fields.get(_IFA_LOCAL) or fields.get(_IFA_ADDRESS, b"")
    return Address(family, prefix, scope, index, raw)


def interfaces(network: Network) -> dict[tuple[str, str], Interface]:
    """Return the interfaces of all ports, by node and name. No time passes."""
    namespace_of = {
        (port.node, port.name or ""): network.namespace_of(port)
        for link in network.topology.links
        for port in link.ports
    }
    namespaces = list(dict.fromkeys(namespace_of.values()))
    sources = [["route", name, what] for name in namespaces for what in (LINKS, ADDRESSES)]
    parts = network.read(sources)
    by_namespace: dict[tuple[str, str], Interface] = {}
    for number, namespace in enumerate(namespaces):
        for interface in _interfaces(parts[2 * number], parts[2 * number + 1]):
            by_namespace[namespace, interface.name] = interface
    return {
        (node, name): by_namespace[namespace, name]
        for (node, name), namespace in namespace_of.items()
        if (namespace, name) in by_namespace
    }


def _interfaces(links: bytes, addresses: bytes) -> Iterator[Interface]:
    texts: dict[int, list[str]] = {}
    for message in framing.messages(addresses, RTM_NEWADDR):
        address = address_in(message)
        if address.raw and address.scope != _SCOPE_LINK:
            texts.setdefault(address.interface, []).append(
                f"{ip_address(address.raw)}/{address.prefix}"
            )
    for message in framing.messages(links, RTM_NEWLINK):
        _, _, index, flags, _ = _IFINFOMSG.unpack_from(message)
        fields = framing.attributes(message[_IFINFOMSG.size :])
        yield Interface(
            framing.text(fields[_IFLA_IFNAME]),
            fields.get(_IFLA_ADDRESS, b"").hex(":"),
            bool(flags & _IFF_UP and flags & _IFF_RUNNING),
            tuple(texts.get(index, ())),
        )
