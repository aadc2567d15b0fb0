"""Parse the output of `tc -s -j qdisc show`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from wanlab.errors import WanlabError
from wanlab.netlink.qdisc import QdiscCounters

MARK_NAMES = ("marked", "ecn_mark", "ce_mark")


@dataclass(frozen=True)
class TcQdisc:
    """One qdisc as tc prints it: its counters, and those of its kind, by tc's names."""

    counters: QdiscCounters
    details: Mapping[str, object]
    """The counters that only this kind has."""
    options: Mapping[str, object]
    """Its settings."""

    @property
    def tins(self) -> list[dict[str, object]]:
        """The counters of cake's tins; empty for other kinds."""
        return msgspec.convert(self.details.get("tins", []), list[dict[str, object]])


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
    options: dict[str, object] = {}


# Keys that say where a qdisc is in the kernel, not what it counted.
_POSITION = {*_Qdisc.__struct_fields__, "refcnt", "offloaded", "invisible", "ingress_block"}


def parse(text: str | bytes, *, device: str = "") -> list[TcQdisc]:
    """Parse the output of tc; `device` is the argument of tc, which then does not print the device.

    Raises WanlabError if it is not the output of `tc -s -j qdisc show`, or shows no qdisc.
    """
    try:
        documents = msgspec.json.decode(text, type=list[dict[str, object]])
        qdiscs = [_qdisc(document, device) for document in documents]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WanlabError(
            f"cannot parse the output of tc: {error}", "was tc called with -s and -j?"
        ) from error
    if not qdiscs:
        raise WanlabError(f"tc shows no qdisc{f' at {device}' if device else ''}")
    return qdiscs


def _qdisc(document: dict[str, object], device: str) -> TcQdisc:
    qdisc = msgspec.convert(document, _Qdisc)
    details = {name: value for name, value in document.items() if name not in _POSITION}
    counters = QdiscCounters(
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
        marks=0,
    )
    tc = TcQdisc(counters, details, qdisc.options)
    # cake counts marks for each of its tins.
    marks = sum(_count(part, name) for part in (details, *tc.tins) for name in MARK_NAMES)
    return TcQdisc(counters._replace(marks=marks), details, qdisc.options)


def _count(details: Mapping[str, object], name: str) -> int:
    value = details.get(name, 0)
    return value if isinstance(value, int) else 0
