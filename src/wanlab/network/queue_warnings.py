"""Queues whose settings have another effect than they seem to have.

* A shaper that is faster than the cable of its port shapes nothing: the cable does.
* A queue that counts packets counts super-packets of up to 64 KB where the NIC segments them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wanlab.netlink import framing, link_dump
from wanlab.netlink.port_conditions import conditions_of, limit_of, read_qdiscs
from wanlab.netlink.qdisc import QdiscCounters
from wanlab.topology.model import Host, Topology
from wanlab.units import format_rate

from .runtime import Runtime

COUNT_PACKETS = ("pfifo", "pfifo_head_drop")


def queue_warnings(runtime: Runtime, topology: Topology, namespaces: Sequence[str]) -> list[str]:
    """Return a warning for each such queue in these namespaces. Reading takes no time."""
    speeds_bps = {
        port.name: runtime.options.line_rate_bps if port.speed_bps is None else port.speed_bps
        for link in topology.links
        for port in link.ports
    }
    if not speeds_bps:
        return []
    hosts = {node.name for node in topology.nodes if isinstance(node, Host)}
    body = link_dump.request_body()
    links = framing.request(link_dump.RTM_GETLINK, body).hex()
    parts = runtime.read([["route", space, links] for space in namespaces])
    devices = {
        space: {link.index: link.name for link in link_dump.decode(part) if link.name in speeds_bps}
        for space, part in zip(namespaces, parts, strict=True)
    }
    qdiscs = read_qdiscs(runtime.read, devices)
    found: list[str] = []
    for space, names in devices.items():
        for port in names.values():
            found += _of_shaper(port, qdiscs.get(port, ()), speeds_bps[port])
            if space in hosts:
                found += _of_packets(runtime, space, port, qdiscs.get(port, ()))
    return found


def _of_shaper(port: str, qdiscs: Sequence[QdiscCounters], speed_bps: int) -> Iterator[str]:
    rate_bps = conditions_of(qdiscs).rate_bps
    if speed_bps and rate_bps and rate_bps > speed_bps:
        yield (
            f"{port}: its shaper allows {format_rate(rate_bps)}, but its cable carries "
            f"{format_rate(speed_bps)} (--line-rate of wanlab mn and python, line_rate= in Python)"
        )


def _of_packets(
    runtime: Runtime, space: str, port: str, qdiscs: Sequence[QdiscCounters]
) -> Iterator[str]:
    for qdisc in qdiscs:
        if qdisc.kind in COUNT_PACKETS and runtime.read([["tso", space, port]]) == [b"1"]:
            yield (
                f"{port}: the limit{limit_of(qdisc)} of its {qdisc.kind} counts super-packets of up "
                f"to 64 KB (for single packets: ethtool -K {port} tso off gso off)"
            )
