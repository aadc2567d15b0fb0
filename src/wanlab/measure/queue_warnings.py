"""Queues whose settings have another effect than they seem to have.

* A shaper that is faster than the cable of its port shapes nothing: the cable does.
* A queue that counts packets counts super-packets of up to 64 KB where the NIC segments them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wanlab.netlink import framing, link_dump
from wanlab.netlink.port_conditions import conditions_of, limit_of, read_qdiscs
from wanlab.netlink.qdisc import QdiscCounters
from wanlab.network import Network
from wanlab.topology import Host
from wanlab.topology.model import is_in_root
from wanlab.units import format_rate

COUNT_PACKETS = ("pfifo", "pfifo_head_drop")


def queue_warnings(network: Network) -> list[str]:
    """Return a warning for each such queue of a running network. Reading takes no time of it."""
    links = framing.request(link_dump.RTM_GETLINK, link_dump.request_body()).hex()
    topology = network.topology
    speeds_bps = {
        port.name: network.line_rate_bps if port.speed_bps is None else port.speed_bps
        for link in topology.links
        for port in link.ports
    }
    hosts = {n.name for n in topology.nodes if isinstance(n, Host) and not is_in_root(n)}
    devices: dict[str, dict[int, str]] = {}
    for space in dict.fromkeys(["", *(network[node.name].namespace for node in topology.nodes)]):
        (part,) = network.read([["route", space, links]])
        names = {link.index: link.name for link in link_dump.decode(part)}
        devices[space] = {index: name for index, name in names.items() if name in speeds_bps}
    qdiscs = read_qdiscs(network.read, devices)
    found: list[str] = []
    for space, names in devices.items():
        for port in names.values():
            found += _of_shaper(port, qdiscs.get(port, ()), speeds_bps[port])
            if space in hosts:
                found += _of_packets(network, space, port, qdiscs.get(port, ()))
    return found


def _of_shaper(port: str, qdiscs: Sequence[QdiscCounters], speed_bps: int) -> Iterator[str]:
    rate_bps = conditions_of(qdiscs).rate_bps
    if speed_bps and rate_bps and rate_bps > speed_bps:
        yield (
            f"{port}: its shaper allows {format_rate(rate_bps)}, but its cable carries "
            f"{format_rate(speed_bps)} (--line-rate of wanlab mn and python, line_rate= in Python)"
        )


def _of_packets(
    network: Network, space: str, port: str, qdiscs: Sequence[QdiscCounters]
) -> Iterator[str]:
    for qdisc in qdiscs:
        if qdisc.kind in COUNT_PACKETS and network.read([["tso", space, port]]) == [b"1"]:
            yield (
                f"{port}: the limit{limit_of(qdisc)} of its {qdisc.kind} counts super-packets of up "
                f"to 64 KB (for single packets: ethtool -K {port} tso off gso off)"
            )
