"""Understands the kernel's answer to RTM_GETQDISC: the counters of every queue, without running tc.

The structures are those of include/uapi/linux/{rtnetlink,gen_stats,pkt_sched}.h of Linux 6.12.
"""

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from wanlab.errors import PeerError
from wanlab.measure import netlink
from wanlab.measure.qdisc import QdiscCounters, marks_in

RTM_NEWQDISC, RTM_NEWTCLASS = 36, 40

Octets = bytes  # its own name, because a counter below is called bytes

_TCMSG = struct.Struct("=B3xiIII")  # family, ifindex, handle, parent, info
_BASIC = struct.Struct("=QI")  # bytes, packets
_PACKETS64 = struct.Struct("=Q")
_NOTHING = bytes(_BASIC.size)
_QUEUE = struct.Struct("=IIIII")  # qlen, backlog, drops, requeues, overlimits

_TCA_KIND, _TCA_OPTIONS, _TCA_STATS2 = 1, 2, 7
_CAKE_TINS, _CAKE_MARKED_PACKETS = 10, 8  # TCA_CAKE_STATS_..., TCA_CAKE_TIN_STATS_...
_STATS_BASIC, _STATS_QUEUE, _STATS_APP, _STATS_PKT64 = 1, 3, 4, 8  # TCA_STATS_...

_ROOT = 0xFFFFFFFF  # TC_H_ROOT

# What each kind counts beyond the common counters (struct tc_KIND_xstats): format and names.
_DETAILS = {
    "red": ("=4I", "early pdrop other marked"),
    "choke": ("=5I", "early pdrop other marked matched"),
    "sfb": (
        "=9I",
        "earlydrop penaltydrop bucketdrop queuedrop childdrop marked maxqlen maxprob avgprob",
    ),
    "codel": (
        "=4Ii4I",
        "maxpacket count lastcount ldelay drop_next drop_overlimit ecn_mark dropping ce_mark",
    ),
    # Of a qdisc, not of a class: the type before the structure is 0 (TCA_FQ_CODEL_XSTATS_QDISC).
    "fq_codel": (
        "=4x9I",
        "maxpacket drop_overlimit ecn_mark new_flow_count new_flows_len old_flows_len ce_mark"
        " memory_used drop_overmemory",
    ),
    "fq": (
        "=7Qq4I4Q",
        "gc_flows highprio_packets tcp_retrans throttled flows_plimit pkts_too_long"
        " allocation_errors time_next_delayed_flow flows inactive_flows throttled_flows"
        " unthrottle_latency_ns ce_mark horizon_drops horizon_caps fastpath_packets",
    ),
    "pie": (
        "=Q8I",
        "prob delay avg_dq_rate dq_rate_estimating packets_in dropped overlimit maxq ecn_mark",
    ),
    "fq_pie": (
        "=9I",
        "packets_in dropped overlimit overmemory ecn_mark new_flow_count new_flows_len"
        " old_flows_len memory_usage",
    ),
}


class Queue(NamedTuple):
    """A qdisc or a class as the kernel tells of it."""

    interface: int
    kind: str
    handle: str
    parent: str
    bytes: int
    packets: int
    drops: int
    overlimits: int
    requeues: int
    backlog_bytes: int
    backlog_packets: int
    xstats: Octets
    options: Octets


def read(message: bytes) -> Queue:
    """One message of a dump of qdiscs or classes."""
    if len(message) < _TCMSG.size:
        raise PeerError(f"the kernel sent a qdisc of {len(message)} bytes")
    _, index, handle, parent, _ = _TCMSG.unpack_from(message)
    fields = netlink.attributes(message[_TCMSG.size :])
    try:
        kind = netlink.text(fields[_TCA_KIND])
        statistics = netlink.attributes(fields[_TCA_STATS2])
        # A flow of SFQ or FQ_CoDel, which is shown as a class, does not count what has left it.
        total_bytes, packets = _BASIC.unpack_from(statistics.get(_STATS_BASIC, _NOTHING))
        queue = _QUEUE.unpack_from(statistics[_STATS_QUEUE])
        if _STATS_PKT64 in statistics:
            (packets,) = _PACKETS64.unpack_from(statistics[_STATS_PKT64])
    except (KeyError, struct.error) as error:
        raise PeerError(f"the kernel sent a qdisc without its counters: {error!r}") from error
    backlog_packets, backlog_bytes, drops, requeues, overlimits = queue
    return Queue(
        index,
        kind,
        tc_handle(handle) if handle else "0:",
        tc_handle(parent),
        total_bytes,
        packets,
        drops,
        overlimits,
        requeues,
        backlog_bytes,
        backlog_packets,
        statistics.get(_STATS_APP, b""),
        fields.get(_TCA_OPTIONS, b""),
    )


def read_class(message: bytes) -> Queue | None:
    """A class; None for those that count nothing, such as the one that stands for tbf's child."""
    fields = netlink.attributes(message[_TCMSG.size :])
    counts = _STATS_QUEUE in netlink.attributes(fields.get(_TCA_STATS2, b""))
    return read(message) if counts else None


def decode(dump: bytes, devices: Mapping[int, str]) -> list[QdiscCounters]:
    """Reads one whole dump; `devices` names the interfaces by index."""
    return [_counters(read(message), devices) for message in netlink.messages(dump, RTM_NEWQDISC)]


def _counters(queue: Queue, devices: Mapping[int, str]) -> QdiscCounters:
    details = _details(queue.kind, queue.xstats)
    return QdiscCounters(
        device=devices.get(queue.interface, f"if{queue.interface}"),
        kind=queue.kind,
        handle=queue.handle,
        parent=queue.parent,
        bytes=queue.bytes,
        packets=queue.packets,
        drops=queue.drops,
        overlimits=queue.overlimits,
        requeues=queue.requeues,
        backlog_bytes=queue.backlog_bytes,
        backlog_packets=queue.backlog_packets,
        marks=marks_in(details),
        details=details,
        xstats=queue.xstats,
    )


def marks(queue: Queue) -> int:
    """Packets that a qdisc has marked with CE."""
    return marks_in(_details(queue.kind, queue.xstats))


def _details(kind: str, xstats: bytes) -> dict[str, Any]:
    if kind == "cake" and xstats:
        return {"tins": _cake_tins(xstats)}
    if kind not in _DETAILS or not xstats:
        return {}
    layout, names = _DETAILS[kind]
    # A newer kernel may append to a structure, never change what was there.
    if len(xstats) < struct.calcsize(layout):
        raise PeerError(f"the kernel sent {len(xstats)} bytes of counters for {kind}: too few")
    return dict(zip(names.split(), struct.unpack_from(layout, xstats), strict=True))


def _cake_tins(xstats: bytes) -> list[dict[str, int]]:
    """cake sends attributes and no structure; of each tin only the marks are read."""
    tins = netlink.attributes(netlink.attributes(xstats).get(_CAKE_TINS, b""))
    marks = (netlink.attributes(tin).get(_CAKE_MARKED_PACKETS, bytes(4)) for tin in tins.values())
    return [{"ecn_mark": struct.unpack("=I", count)[0]} for count in marks]


@cache
def tc_handle(handle: int) -> str:
    """As tc prints it (iproute2, tc/tc_util.c, print_tc_classid)."""
    if handle == _ROOT:
        return "root"
    if handle == 0:
        return "none"
    major, minor = handle >> 16, handle & 0xFFFF
    return f"{major:x}:" if minor == 0 else f"{major:x}:{minor:x}" if major else f":{minor:x}"
