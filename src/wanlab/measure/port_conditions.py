"""The settings of `tc` at the ports of a live network: rate, delay, loss, queue; read without tc.

The structures are tc_netem_qopt, tc_tbf_qopt and tc_ratespec of include/uapi/linux/pkt_sched.h, Linux
6.12. A port's conditions are those of all its qdiscs together: the lowest rate, the sum of the delays,
and the innermost qdisc that is neither netem nor tbf as its queue.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wanlab.network import Network

from . import netlink, netlink_qdisc, queue_state
from .qdisc import QdiscCounters
from .readings import interface_numbers

_TBF_PARMS, _TBF_RATE64 = 1, 4
_TBF = struct.Struct("=8xI12xI")  # of tc_tbf_qopt: the rate of its first tc_ratespec, and the limit
_NETEM = struct.Struct("=IIIIII")  # latency, limit, loss, gap, duplicate, jitter
_NETEM_CORRUPT, _NETEM_RATE, _NETEM_RATE64 = 4, 6, 8
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


class QdiscReader:
    """Reads the qdiscs of ports; no time passes. Interfaces must not be replaced meanwhile."""

    def __init__(self, network: Network, ports: Sequence[str]) -> None:
        self._network = network
        self._devices = interface_numbers(network, ports)

    def read(self) -> dict[str, list[QdiscCounters]]:
        """Return the qdiscs and classes of each port."""
        qdiscs = read_qdiscs(self._network, self._devices)
        names = [name for devices in self._devices.values() for name in devices.values()]
        return {name: qdiscs.get(name, []) for name in names}


def read_qdiscs(
    network: Network, devices: Mapping[str, Mapping[int, str]]
) -> dict[str, list[QdiscCounters]]:
    """Return the qdiscs and classes of interfaces, by name; `devices` has their names by namespace."""
    sources = [
        ["queues", space, list(names), list(queue_state.CLASSFUL)]
        for space, names in devices.items()
    ]
    qdiscs: dict[str, list[QdiscCounters]] = {}
    for names, part in zip(devices.values(), network.read(sources), strict=True):
        for name, counters in _counters(part, names):
            qdiscs.setdefault(name, []).append(counters)
    return qdiscs


def _counters(part: bytes, devices: Mapping[int, str]) -> Iterable[tuple[str, QdiscCounters]]:
    for kind, message in netlink.dumps(part):
        device = devices.get(netlink_qdisc.interface_of(message))
        if device is None:
            continue
        if kind != netlink_qdisc.RTM_NEWTCLASS:
            yield device, netlink_qdisc.read_qdisc(message, device)
        elif counters := netlink_qdisc.read_class(message, device):
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
    fields = netlink.attributes(options)
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
    fields = netlink.attributes(options[_NETEM.size :])
    delay_ns = _u64(fields, _NETEM_LATENCY64, latency * _TICK_NS)
    jitter_ns = _u64(fields, _NETEM_JITTER64, jitter * _TICK_NS)
    corrupt = _U32.unpack_from(fields[_NETEM_CORRUPT])[0] if _NETEM_CORRUPT in fields else 0
    rate = _U32.unpack_from(fields[_NETEM_RATE])[0] if _NETEM_RATE in fields else 0
    rate = _u64(fields, _NETEM_RATE64, rate)
    return PortConditions(
        rate_bps=8 * rate or None,
        delay_ns=delay_ns,
        jitter_ns=jitter_ns,
        loss_fraction=loss / _WHOLE,
        duplicate_fraction=duplicate / _WHOLE,
        corrupt_fraction=corrupt / _WHOLE,
    )


def _u64(fields: Mapping[int, bytes], kind: int, otherwise: int) -> int:
    return int(_U64.unpack_from(fields[kind])[0]) if kind in fields else otherwise
