"""Why interfaces lost packets: what their counters tx_dropped and rx_dropped mean, by kind.

From net/core/dev.c, drivers/net, net/8021q, include/net/ip_tunnels.h and net/openvswitch of Linux 6.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wanlab.netlink.link_dump import LinkCounters

TUNNELS = (
    *("gre", "gretap", "erspan", "ipip", "sit", "vti"),
    *("ip6gre", "ip6gretap", "ip6erspan", "ip6tnl", "vti6", "bareudp", "geneve", "vxlan", "xfrm"),
)
UPPER = (
    *("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "vrf", "macsec", "hsr", "team"),
    *TUNNELS,
)
"""Kinds that count what the interface below them refuses, which counts it as well."""
REFUSED_BELOW = "the interface below did not take them, and counts them, too"
UNREACHABLE = "no route led to its other end, or they were longer than the MTU of the path there"
"""What tx_errors of a tunnel count; the sender gets an ICMP message."""
SENT = {
    "ifb": "the interface that they had been redirected from was gone",
    "bond": "none of its ports was up",
    "bridge": "none of its ports forwarded yet",
    "tun": "no program read them, or it read too slowly",
    "vxlan": f"no destination was known for them, or {REFUSED_BELOW}",
    "wireguard": "no peer was known for them, or its handshake did not end",
}
"""Causes of tx_dropped of some kinds."""
RECEIVED = {
    "ifb": "it takes packets that a filter redirects to it, but these were sent to it",
    "openvswitch": "it was down",
    "tun": "it was down, or a program wrote something that is no packet",
}
"""Causes of rx_dropped of some kinds."""
OWN_PACKETS = ("bridge", "ifb")
"""Kinds that lose packets of the kernel's own, such as those of IPv6's start, in any network."""


class InterfaceDrops(NamedTuple):
    """Packets that an interface lost in one direction."""

    packets: int
    passed: int
    cause: str
    remedy: str = ""
    is_known: bool = False
    """Whether the sender learns of them, another interface counts them, too, or no program sent them."""


def drops_of_interface(port: LinkCounters, mtus: Iterable[int]) -> Iterator[InterfaceDrops]:
    """Yield what an interface lost, in each direction; `mtus` are those of all ports of the network."""
    if port.tx_drops:
        cause, remedy = _sent(port, min(mtus, default=port.mtu_bytes))
        is_known = cause == REFUSED_BELOW or port.kind in OWN_PACKETS
        yield InterfaceDrops(port.tx_drops, port.tx_packets, cause, remedy, is_known)
    if port.rx_drops:
        cause = RECEIVED.get(port.kind) or _received(port, max(mtus, default=port.mtu_bytes))
        came = port.rx_packets - port.rx_drops if port.kind == "ifb" else port.rx_packets
        yield InterfaceDrops(port.rx_drops, came, cause, is_known=port.kind in OWN_PACKETS)
    if port.tx_errors and port.kind in TUNNELS:
        yield InterfaceDrops(port.tx_errors, port.tx_packets, UNREACHABLE, is_known=True)


def _sent(port: LinkCounters, shortest_mtu_bytes: int) -> tuple[str, str]:
    """Return why an interface lost packets that it sent, and what to do."""
    if not port.is_up:
        return "the interface was down", ""
    if cause := SENT.get(port.kind):
        return cause, ""
    if port.kind in UPPER:
        return REFUSED_BELOW, ""
    if shortest_mtu_bytes < port.mtu_bytes:
        cause = "its peer was down or has a smaller MTU, or they were part of a storm"
        remedy = "the same MTU everywhere, or STP, if switches form a loop (--stp of wanlab mn)"
    else:
        cause = "its peer was down, or they were part of a storm"
        remedy = "STP, if switches form a loop (--stp of wanlab mn)"
    return cause, remedy


def _received(port: LinkCounters, longest_mtu_bytes: int) -> str:
    """Return why an interface lost packets that it received."""
    causes = ["nothing here takes packets of their protocol", "it was down"]
    if port.mtu_bytes < longest_mtu_bytes:
        causes.insert(0, f"they were longer than its MTU of {port.mtu_bytes} bytes")
    return ", or ".join(causes)
