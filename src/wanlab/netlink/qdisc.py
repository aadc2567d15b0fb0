"""The counters of a qdisc, as the kernel and tc both report them.

A qdisc that shapes keeps its packets in itself or in a child, and the kernel counts a packet in every
qdisc that holds it. With netem (1:) above tbf (2:) the queue before the bottleneck is the backlog of
2:. The backlog of 1: also has the packets in flight on the emulated wire (see port_queue).
"""

from __future__ import annotations

from typing import NamedTuple

Octets = bytes  # a second name, because a counter below is called bytes


class QdiscCounters(NamedTuple):
    """One qdisc or class at one moment. Handles and parents are written as tc writes them."""

    device: str
    kind: str
    handle: str
    parent: str
    """"root", the class it hangs below ("1:10"), or "none"."""
    bytes: int
    packets: int
    drops: int
    overlimits: int
    requeues: int
    backlog_bytes: int
    backlog_packets: int
    marks: int
    """Packets marked with ECN's CE by red, choke, sfb, (fq_)codel, fq, (fq_)pie, cake; else 0."""
    xstats: Octets = b""
    """The counters that only this kind has, as the kernel's structure (see queue_state)."""
    options: Octets = b""
    """Its settings, as netlink attributes."""

    def row(self) -> dict[str, str | int]:
        """Return the counters that every kind has, as a row of a table."""
        return dict(zip(ROW, self[:12], strict=True))


ROW = QdiscCounters._fields[:12]
"""The columns that every qdisc has."""
CLASS_ROW = ROW[:-1]
"""The columns that every class has: classes do not count marks."""
