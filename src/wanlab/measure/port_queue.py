"""What stands in the queue of a port, and what does not: the delay line.

A port may have several qdiscs, one below the other, and the kernel counts a packet in each that it
stands in. The queue is what waits before the bottleneck: in shapers and AQMs, but not in netem, whose
packets are under way on an emulated wire.

    netem 1:  ----- tbf 2: ----- codel 3:          a qdisc's own share is its backlog without those
    5 MB            3 MB         2.9 MB            of the qdiscs below it: 2, 0.1 and 2.9 MB
    `- 2 MB are     `-- the queue is 3 MB --'
       on the wire

The sum of the own shares of all but netem is a sum over the qdiscs, each with a weight of its own: 1
unless it is netem, less 1 if it hangs below one that is not netem. Drops are counted in the same way
(net/sched/sch_api.c, qdisc_tree_reduce_backlog), so what netem loses on purpose is none of the queue's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .qdisc import QdiscCounters

DELAY_LINE = "netem"


@dataclass(frozen=True)
class PortQueue:
    """The queue of one port at one moment."""

    kinds: tuple[str, ...]
    """What makes it: ("tbf", "codel"); empty if there is only a delay line, or nothing."""
    delays: bool
    """Whether there is a delay line."""
    backlog_bytes: int
    backlog_packets: int
    drops: int
    marks: int


def port_queue(qdiscs: Sequence[QdiscCounters]) -> PortQueue:
    """From all qdiscs of one port."""
    by_handle = {qdisc.handle: qdisc for qdisc in qdiscs}
    weights = [(qdisc, _weight(qdisc, by_handle)) for qdisc in qdiscs]

    def total(name: str) -> int:
        return max(0, sum(weight * int(getattr(qdisc, name)) for qdisc, weight in weights))

    return PortQueue(
        kinds=tuple(q.kind for q in qdiscs if q.kind not in (DELAY_LINE, "noqueue")),
        delays=any(q.kind == DELAY_LINE for q in qdiscs),
        backlog_bytes=total("backlog_bytes"),
        backlog_packets=total("backlog_packets"),
        drops=total("drops"),
        marks=sum(qdisc.marks for qdisc in qdiscs),
    )


def _weight(qdisc: QdiscCounters, by_handle: dict[str, QdiscCounters]) -> int:
    major, is_class, _ = qdisc.parent.partition(":")
    above = by_handle.get(f"{major}:") if is_class else None
    counted_above = above is not None and above.kind != DELAY_LINE
    return (qdisc.kind != DELAY_LINE) - counted_above
