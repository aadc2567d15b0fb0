"""The settings of `tc` at the ports of a live network: rate, delay, loss, queue; read without tc.

The structures are tc_netem_qopt, tc_tbf_qopt and tc_ratespec of include/uapi/linux/pkt_sched.h, Linux
6.12. A port's conditions are those of all its qdiscs together: the lowest rate, the sum of the delays,
and the innermost qdisc that is neither netem nor tbf as its queue.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wanlab.netlink import framing, qdisc_dump, queue_state
from wanlab.netlink.qdisc import QdiscCounters

_TBF_PARMS, _TBF_RATE64 = 1, 4
_TBF = struct.Struct("=8xI12xI")  # of tc_tbf_qopt: the rate of its first tc_ratespec, and the limit
_NETEM = struct.Struct("=IIIIII")  # latency, limit, loss, gap, duplicate, jitter
_NETEM_CORRUPT, _NETEM_LOSS, _NETEM_RATE, _NETEM_RATE64 = 4, 5, 6, 8
_NETEM_LOSS_GI, _NETEM_LOSS_GE = 1, 2
_NETEM_LATENCY64, _NETEM_JITTER64 = 10, 11
_TICK_NS = 64
_U32, _U64 = struct.Struct("=I"), struct.Struct("=Q")
_WHOLE = 2**32 - 1
_SHAPERS = ("netem", "tbf", "opportunity")
_WITHOUT_QUEUE = ("noqueue", "mq", "ingress", "clsact")


@dataclass(frozen=True)
class PortConditions:
    """The conditions for packets that leave through a port, as set in the kernel."""

    rate_bps: int | None = None
    delay_ns: int = 0
    jitter_ns: int = 0
    loss_fraction: float = 0.0
    duplicate_fraction: float = 0.0
    corrupt_fraction: float = 0.0
    queue: str = ""
    """The kind of the queue; "" for the default one."""
    limit_bytes: int | None = None
    """The limit of the queue of a tbf."""


def read_qdiscs(
    read: Callable[[Sequence[Sequence[object]]], list[bytes]],
    devices: Mapping[str, Mapping[int, str]],
) -> dict[str, list[QdiscCounters]]:
    """Return the qdiscs and classes of interfaces, by name; `devices` has their names by namespace.

    `read` is that of a network; see `agent/counters.py`.
    """
    sources = [
        ["queues", space, list(names), list(queue_state.CLASSFUL)]
        for space, names in devices.items()
    ]
    qdiscs: dict[str, list[QdiscCounters]] = {}
    for names, part in zip(devices.values(), read(sources), strict=True):
        for name, counters in _counters(part, names):
            qdiscs.setdefault(name, []).append(counters)
    return qdiscs


def _counters(part: bytes, devices: Mapping[int, str]) -> Iterable[tuple[str, QdiscCounters]]:
    for kind, message in framing.dumps(part):
        device = devices.get(qdisc_dump.interface_of(message))
        if device is None:
            continue
        if kind != qdisc_dump.RTM_NEWTCLASS:
            yield device, qdisc_dump.read_qdisc(message, device)
        elif counters := qdisc_dump.read_class(message, device):
            yield device, counters


def conditions_of(qdiscs: Iterable[QdiscCounters]) -> PortConditions:
    """Return the combined conditions of the qdiscs and classes of one port."""
    rates: list[int] = []
    delay_ns = jitter_ns = 0
    arriving, duplicated, corrupted = 1.0, 0.0, 0.0
    queue, limit_bytes = "", None
    for qdisc in qdiscs:
        if qdisc.kind == "tbf":
            rate_bps, limit_bytes = _tbf(qdisc.options)
            rates.append(rate_bps)
        elif qdisc.kind == "netem":
            netem = _netem(qdisc.options)
            delay_ns += netem.delay_ns
            jitter_ns += netem.jitter_ns
            arriving *= 1 - netem.loss_fraction
            duplicated = max(duplicated, netem.duplicate_fraction)
            corrupted = max(corrupted, netem.corrupt_fraction)
            rates += [netem.rate_bps] if netem.rate_bps else []
        elif qdisc.kind == "htb" and qdisc.parent == "root" and qdisc.options:
            rates += _htb_rates(qdisc.options)
        if qdisc.kind not in (*_SHAPERS, *_WITHOUT_QUEUE):
            queue = qdisc.kind
    return PortConditions(
        rate_bps=min(rates, default=None),
        delay_ns=delay_ns,
        jitter_ns=jitter_ns,
        loss_fraction=1 - arriving,
        duplicate_fraction=duplicated,
        corrupt_fraction=corrupted,
        queue=queue,
        limit_bytes=limit_bytes,
    )


def _tbf(options: bytes) -> tuple[int, int]:
    fields = framing.attributes(options)
    rate, limit = _TBF.unpack_from(fields[_TBF_PARMS])
    if _TBF_RATE64 in fields:
        (rate,) = _U64.unpack_from(fields[_TBF_RATE64])
    return 8 * rate, limit


def _htb_rates(options: bytes) -> list[int]:
    """Return the ceiling of a class below the root; a qdisc's options have none."""
    try:
        return [queue_state.class_settings("htb", options)[1]]
    except (KeyError, struct.error):
        return []


def netem_limit(options: bytes) -> int:
    """Return the limit of a netem in packets."""
    return int(_NETEM.unpack_from(options)[1])


def _netem(options: bytes) -> PortConditions:
    latency, _, loss, _, duplicate, jitter = _NETEM.unpack_from(options)
    fields = framing.attributes(options[_NETEM.size :])
    delay_ns = _u64(fields, _NETEM_LATENCY64, latency * _TICK_NS)
    jitter_ns = _u64(fields, _NETEM_JITTER64, jitter * _TICK_NS)
    corrupt = _U32.unpack_from(fields[_NETEM_CORRUPT])[0] if _NETEM_CORRUPT in fields else 0
    rate = _U32.unpack_from(fields[_NETEM_RATE])[0] if _NETEM_RATE in fields else 0
    rate = _u64(fields, _NETEM_RATE64, rate)
    return PortConditions(
        rate_bps=8 * rate or None,
        delay_ns=delay_ns,
        jitter_ns=jitter_ns,
        loss_fraction=_loss_of_model(fields) if _NETEM_LOSS in fields else loss / _WHOLE,
        duplicate_fraction=duplicate / _WHOLE,
        corrupt_fraction=corrupt / _WHOLE,
    )


def has_loss_model(options: bytes) -> bool:
    """Whether a netem loses packets in bursts (`loss state`, `loss gemodel`)."""
    return _NETEM_LOSS in framing.attributes(options[_NETEM.size :])


def _loss_of_model(fields: Mapping[int, bytes]) -> float:
    """Return the mean loss of a model: the stationary distribution of its states.

    Source: loss_4state and loss_gilb_ell of net/sched/sch_netem.c.
    """
    models = framing.attributes(fields[_NETEM_LOSS])
    if _NETEM_LOSS_GE in models:
        shares: tuple[int, ...] = struct.unpack_from("=4I", models[_NETEM_LOSS_GE])
        to_bad, to_good, kept_in_bad, lost_in_good = (number / _WHOLE for number in shares)
        bad = to_bad / (to_bad + to_good) if to_bad else 0.0
        return bad * (1 - kept_in_bad) + (1 - bad) * lost_in_good
    if _NETEM_LOSS_GI not in models:
        return 0.0
    numbers: tuple[int, ...] = struct.unpack_from("=5I", models[_NETEM_LOSS_GI])
    p13, p31, p32, p14, p23 = (number / _WHOLE for number in numbers)
    # How much time is spent in each state, relative to the state in which packets pass.
    burst = p13 / p31 if p31 else 0.0
    passing_in_burst = burst * p32 / p23 if p23 else 0.0
    return (burst + p14) / (1 + p14 + burst + passing_in_burst)


def _u64(fields: Mapping[int, bytes], kind: int, otherwise: int) -> int:
    return int(_U64.unpack_from(fields[kind])[0]) if kind in fields else otherwise


QUEUE_LIMITS = {
    "pfifo": (0, "packets"),
    "bfifo": (0, "bytes"),
    "pfifo_head_drop": (0, "packets"),
    "sfq": (8, "packets"),
}
"""Where queues have their limit in the first structure of their options, and its unit: tc_fifo_qopt and
tc_sfq_qopt of include/uapi/linux/pkt_sched.h."""


def limit_of(qdisc: QdiscCounters) -> str:
    """Return the limit of a queue, such as " of 3 packets"; "" if its options do not have it."""
    if qdisc.kind == "tbf":
        return f" of {conditions_of([qdisc]).limit_bytes} bytes"
    offset, unit = QUEUE_LIMITS[qdisc.kind]
    if len(qdisc.options) < offset + _U32.size:
        return ""
    return f" of {_U32.unpack_from(qdisc.options, offset)[0]} {unit}"
