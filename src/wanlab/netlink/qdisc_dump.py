"""Parse the kernel's answer to RTM_GETQDISC: the counters of every queue, without running tc.

The messages are those of include/uapi/linux/{rtnetlink,gen_stats,pkt_sched}.h of Linux 6.12. Counters of
single kinds are in queue_state.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache

from wanlab.errors import PeerError
from wanlab.netlink import framing, queue_state
from wanlab.netlink.qdisc import QdiscCounters

RTM_NEWQDISC, RTM_GETQDISC, RTM_NEWTCLASS = 36, 38, 40

_TCMSG = struct.Struct("=B3xiIII")  # family, ifindex, handle, parent, info
_BASIC = struct.Struct("=QI")  # bytes, packets
_PACKETS64 = struct.Struct("=Q")
_NOTHING = bytes(_BASIC.size)
_QUEUE = struct.Struct("=IIIII")  # qlen, backlog, drops, requeues, overlimits

_TCA_KIND, _TCA_OPTIONS, _TCA_STATS2 = 1, 2, 7
_STATS_BASIC, _STATS_QUEUE, _STATS_APP, _STATS_PKT64 = 1, 3, 4, 8  # TCA_STATS_...

_ROOT = 0xFFFFFFFF  # TC_H_ROOT


def request_body() -> bytes:
    """Return the body of an RTM_GETQDISC that requests all qdiscs."""
    return _TCMSG.pack(0, 0, 0, 0, 0)


def decode(dump: bytes, devices: Mapping[int, str]) -> list[QdiscCounters]:
    """Parse one whole dump; `devices` names the interfaces by index."""
    return [
        read_qdisc(message, devices.get(interface, f"if{interface}"))
        for message in framing.messages(dump, RTM_NEWQDISC)
        for interface in [interface_of(message)]
    ]


def interface_of(message: bytes) -> int:
    """Return the index of the interface that a qdisc or class belongs to."""
    if len(message) < _TCMSG.size:
        raise PeerError(f"the kernel sent a qdisc of {len(message)} bytes")
    index: int = _TCMSG.unpack_from(message)[1]
    return index


def read_qdisc(message: bytes, device: str) -> QdiscCounters:
    """Parse one message of a dump of qdiscs."""
    counters = _counters(message, device)
    return counters._replace(marks=queue_state.marks(counters.kind, counters.xstats))


def read_class(message: bytes, device: str) -> QdiscCounters | None:
    """Parse one message of a dump of classes.

    Returns None for classes that count nothing, such as the one that stands for tbf's child.
    """
    fields = framing.attributes(message[_TCMSG.size :])
    counts = _STATS_QUEUE in framing.attributes(fields.get(_TCA_STATS2, b""))
    return _counters(message, device) if counts else None


def _counters(message: bytes, device: str) -> QdiscCounters:
    _, _, handle, parent, _ = _TCMSG.unpack_from(message)
    fields = framing.attributes(message[_TCMSG.size :])
    try:
        kind = framing.text(fields[_TCA_KIND])
        statistics = framing.attributes(fields[_TCA_STATS2])
        # A flow of SFQ or FQ_CoDel, which is shown as a class, does not count the packets it has sent.
        total_bytes, packets = _BASIC.unpack_from(statistics.get(_STATS_BASIC, _NOTHING))
        queue = _QUEUE.unpack_from(statistics[_STATS_QUEUE])
        if _STATS_PKT64 in statistics:
            (packets,) = _PACKETS64.unpack_from(statistics[_STATS_PKT64])
    except (KeyError, struct.error) as error:
        raise PeerError(f"the kernel sent a qdisc without its counters: {error!r}") from error
    backlog_packets, backlog_bytes, drops, requeues, overlimits = queue
    return QdiscCounters(
        device=device,
        kind=kind,
        handle=tc_handle(handle) if handle else "0:",
        parent=tc_handle(parent),
        bytes=total_bytes,
        packets=packets,
        drops=drops,
        overlimits=overlimits,
        requeues=requeues,
        backlog_bytes=backlog_bytes,
        backlog_packets=backlog_packets,
        marks=0,
        xstats=statistics.get(_STATS_APP, b""),
        options=fields.get(_TCA_OPTIONS, b""),
    )


@cache
def tc_handle(handle: int) -> str:
    """Write a handle as tc prints it (iproute2, tc/tc_util.c, print_tc_classid)."""
    if handle == _ROOT:
        return "root"
    if handle == 0:
        return "none"
    major, minor = handle >> 16, handle & 0xFFFF
    return f"{major:x}:" if minor == 0 else f"{major:x}:{minor:x}" if major else f":{minor:x}"
