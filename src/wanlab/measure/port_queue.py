"""The queue of a port: the packets that wait before the bottleneck, without the delay line.

A qdisc's counters include those of the qdiscs below it, so the queue is a weighted sum over all qdiscs
of the port (see `record.qdisc_tree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from wanlab.netlink.qdisc import QdiscCounters
from wanlab.record import Table
from wanlab.record.qdisc_tree import DELAY_LINE, queue_weights


@dataclass(frozen=True)
class PortQueue:
    """The queue of one port at one moment."""

    kinds: tuple[str, ...]
    """The qdiscs that form it: ("tbf", "codel"); empty if there is only a delay line, or nothing."""
    delays: bool
    """Whether there is a delay line."""
    backlog_bytes: int
    backlog_packets: int
    drops: int
    marks: int


class QdiscPosition(Protocol):
    """The position of a qdisc in the tree of its port."""

    @property
    def kind(self) -> str: ...
    @property
    def handle(self) -> str: ...
    @property
    def parent(self) -> str: ...


class _Backlog(NamedTuple):
    kind: str
    handle: str
    parent: str
    backlog_bytes: int


def port_queue(qdiscs: Sequence[QdiscCounters]) -> PortQueue:
    """Return the queue that all qdiscs of one port form."""
    weights = _weights(qdiscs)

    def total(counts: Sequence[int]) -> int:
        return max(0, sum(weight * count for weight, count in zip(weights, counts, strict=True)))

    return PortQueue(
        kinds=tuple(q.kind for q in qdiscs if q.kind not in (DELAY_LINE, "noqueue")),
        delays=any(q.kind == DELAY_LINE for q in qdiscs),
        backlog_bytes=total([q.backlog_bytes for q in qdiscs]),
        backlog_packets=total([q.backlog_packets for q in qdiscs]),
        drops=total([q.drops for q in qdiscs]),
        marks=sum(qdisc.marks for qdisc in qdiscs),
    )


def port_backlogs_bytes(qdiscs: Table) -> list[int]:
    """Return the queue of one port at each sampled time, from its rows of the table "qdisc"."""
    by_time: dict[int, list[_Backlog]] = {}
    columns = (qdiscs[name] for name in ("time_ns", "kind", "handle", "parent", "backlog_bytes"))
    for time_ns, kind, handle, parent, backlog in zip(*columns, strict=True):
        row = _Backlog(str(kind), str(handle), str(parent), int(backlog))
        by_time.setdefault(int(time_ns), []).append(row)
    return [
        max(0, sum(w * row.backlog_bytes for w, row in zip(_weights(rows), rows, strict=True)))
        for rows in by_time.values()
    ]


def _weights(qdiscs: Sequence[QdiscPosition]) -> list[int]:
    """Return the weight of each qdisc in the sum over its port."""
    return queue_weights(
        [qdisc.kind for qdisc in qdiscs],
        [qdisc.handle for qdisc in qdiscs],
        [qdisc.parent for qdisc in qdiscs],
    )
