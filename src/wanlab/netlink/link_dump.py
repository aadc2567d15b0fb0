"""Parse the kernel's answer to RTM_GETLINK: every interface and its counters (`ip -s link`).

The structures are those of include/uapi/linux/{rtnetlink,if_link}.h of Linux 6.12. "tx" is
what a port sends, as its node sees it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from wanlab.errors import PeerError
from wanlab.netlink import framing

RTM_NEWLINK, RTM_GETLINK = 16, 18

_IFINFOMSG = struct.Struct("=BxHiII")  # family, type, index, flags, change
_STATS64 = struct.Struct("=8Q")  # the first of struct rtnl_link_stats64

_IFLA_IFNAME, _IFLA_MTU, _IFLA_LINKINFO, _IFLA_STATS64 = 3, 4, 18, 23
_IFLA_INFO_KIND = 1
_IFF_UP, _IFF_LOOPBACK = 1, 8


@dataclass(frozen=True, kw_only=True)
class LinkCounters:
    """One interface at one moment."""

    index: int
    name: str
    kind: str
    """ "veth", "bridge", ...; "" if it is not a software interface."""
    mtu_bytes: int
    is_up: bool
    is_loopback: bool
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_errors: int
    tx_errors: int
    rx_drops: int
    tx_drops: int
    """Dropped by the interface itself; its qdisc counts its own drops."""

    def row(self) -> dict[str, object]:
        """Return the counters as a row of a table."""
        return {
            "port": self.name,
            "rx_packets": self.rx_packets,
            "tx_packets": self.tx_packets,
            "rx_bytes": self.rx_bytes,
            "tx_bytes": self.tx_bytes,
            "rx_errors": self.rx_errors,
            "tx_errors": self.tx_errors,
            "rx_drops": self.rx_drops,
            "tx_drops": self.tx_drops,
        }


def request_body() -> bytes:
    """Return the body of an RTM_GETLINK that requests all interfaces."""
    return _IFINFOMSG.pack(0, 0, 0, 0, 0)


def decode(dump: bytes) -> list[LinkCounters]:
    """Parse one whole dump of interfaces."""
    return [_counters(message) for message in framing.messages(dump, RTM_NEWLINK)]


def _counters(message: bytes) -> LinkCounters:
    if len(message) < _IFINFOMSG.size:
        raise PeerError(f"the kernel sent an interface of {len(message)} bytes")
    _, _, index, flags, _ = _IFINFOMSG.unpack_from(message)
    fields = framing.attributes(message[_IFINFOMSG.size :])
    info = framing.attributes(fields.get(_IFLA_LINKINFO, b""))
    try:
        rx_packets, tx_packets, rx_bytes, tx_bytes, *problems = _STATS64.unpack_from(
            fields[_IFLA_STATS64]
        )
        name = framing.text(fields[_IFLA_IFNAME])
        (mtu_bytes,) = struct.unpack_from("=I", fields[_IFLA_MTU])
    except (KeyError, struct.error) as error:
        raise PeerError(f"the kernel sent an interface without its counters: {error!r}") from error
    rx_errors, tx_errors, rx_drops, tx_drops = problems
    return LinkCounters(
        index=index,
        name=name,
        kind=framing.text(info.get(_IFLA_INFO_KIND, b"")),
        mtu_bytes=mtu_bytes,
        is_up=bool(flags & _IFF_UP),
        is_loopback=bool(flags & _IFF_LOOPBACK),
        rx_packets=rx_packets,
        tx_packets=tx_packets,
        rx_bytes=rx_bytes,
        tx_bytes=tx_bytes,
        rx_errors=rx_errors,
        tx_errors=tx_errors,
        rx_drops=rx_drops,
        tx_drops=tx_drops,
    )
