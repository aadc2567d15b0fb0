"""Counters of a queue, and how `tc -s -j qdisc show` prints them.

A qdisc that shapes keeps its packets in itself or in a child; the kernel counts a packet in every
qdisc it stands in. With netem (1:) above tbf (2:) the queue before the bottleneck is the backlog of
2:, and the backlog of 1: is that plus what is under way on the emulated wire.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from wanlab.errors import WanlabError

Structure = bytes  # its own name, because a counter below is called bytes


@dataclass(frozen=True, kw_only=True)
class QdiscCounters:
    """One qdisc at one moment. Handles and parents are written as tc writes them."""

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
    details: Mapping[str, Any] = field(default_factory=dict)
    """What only this kind counts, by tc's names."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What it was set to, by tc's names; only tc tells."""
    xstats: Structure = b""
    """What only this kind counts, as the kernel's structure; only netlink tells."""

    def row(self) -> dict[str, Any]:
        """The counters that every kind has, as a row of a table."""
        return {
            "device": self.device,
            "kind": self.kind,
            "handle": self.handle,
            "parent": self.parent,
            "bytes": self.bytes,
            "packets": self.packets,
            "drops": self.drops,
            "overlimits": self.overlimits,
            "requeues": self.requeues,
            "backlog_bytes": self.backlog_bytes,
            "backlog_packets": self.backlog_packets,
            "marks": self.marks,
        }


class _Qdisc(msgspec.Struct):
    kind: str
    handle: str
    bytes: int
    packets: int
    drops: int
    overlimits: int
    requeues: int
    backlog: int
    qlen: int
    dev: str = ""
    parent: str = "none"
    root: bool = False
    options: dict[str, Any] = {}


# Keys that say how a qdisc stands in the kernel, not what it counted.
_ABOUT = {*_Qdisc.__struct_fields__, "refcnt", "offloaded", "invisible", "ingress_block"}


def parse(text: str | bytes, *, device: str = "") -> list[QdiscCounters]:
    """Reads `tc -s -j qdisc show`; `device` is the one asked for, which tc then does not repeat."""
    try:
        documents = msgspec.json.decode(text, type=list[dict[str, Any]])
        rows = [_counters(document, device) for document in documents]
    except msgspec.DecodeError as error:
        raise WanlabError(
            f"the output of tc is not understood: {error}", "was tc called with -s and -j?"
        ) from error
    if not rows:
        raise WanlabError(f"tc shows no qdisc{f' at {device}' if device else ''}")
    return rows


def marks_in(details: Mapping[str, Any]) -> int:
    """The packets marked with CE, whatever a kind calls them."""
    tins = details.get("tins", [])  # cake counts for each of its classes
    names = ("marked", "ecn_mark", "ce_mark")
    return sum(int(part.get(name, 0)) for part in (details, *tins) for name in names)


def _counters(document: dict[str, Any], device: str) -> QdiscCounters:
    qdisc = msgspec.convert(document, _Qdisc)
    details = {name: value for name, value in document.items() if name not in _ABOUT}
    return QdiscCounters(
        device=qdisc.dev or device,
        kind=qdisc.kind,
        handle=qdisc.handle,
        parent="root" if qdisc.root else qdisc.parent,
        bytes=qdisc.bytes,
        packets=qdisc.packets,
        drops=qdisc.drops,
        overlimits=qdisc.overlimits,
        requeues=qdisc.requeues,
        backlog_bytes=qdisc.backlog,
        backlog_packets=qdisc.qlen,
        marks=marks_in(details),
        details=details,
        options=qdisc.options,
    )
