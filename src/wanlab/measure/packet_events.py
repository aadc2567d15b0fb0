"""Follow single packets through ports: when each was queued, sent, dropped and received.

Like the samplers of `traces`, this reads the kernel's trace points:

    net:net_dev_queue        a packet reaches a port, before its queue
    net:net_dev_start_xmit   its driver begins to send it
    net:netif_receive_skb    it has arrived at the port at the other end
    skb:kfree_skb            it was dropped, if that happens between the first two

A packet keeps its address in memory from one to the next, also across a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wanlab.network import Network
from wanlab.record import Table

from .trace_pages import Events
from .traces import FREED, LEFT, QUEUED, EventSampler

RECEIVED = "net/netif_receive_skb"
ETHERNET_BYTES = 14
RARELY_NS = 3600 * 10**9
"""The interval of samplings that are read on demand. (A regular sample would be an event, too.)"""
MAX_FILTER_PORTS = 20
"""The kernel's filters are limited in length; with more ports it reports all interfaces."""

PacketEventKind = Literal["queued", "sent", "dropped", "received"]
_KINDS: dict[str, PacketEventKind] = {
    QUEUED: "queued",
    LEFT: "sent",
    FREED: "dropped",
    RECEIVED: "received",
}


@dataclass(frozen=True)
class PacketEvent:
    """An event of a packet at a port. `address` is that of the packet in memory."""

    time_ns: int
    kind: PacketEventKind
    port: str
    address: int
    size_bytes: int
    """With its Ethernet header."""
    reason: str = ""
    """The kernel's reason for a drop."""


class PacketEvents(EventSampler):
    """Follows packets; `drain` returns the events since the last call, in order."""

    def __init__(self, ports: Sequence[str]) -> None:
        super().__init__()
        self._ports = frozenset(ports)
        self._waiting: dict[int, tuple[str, int]] = {}
        """Port and size of each packet that is in a port's queue."""
        self._new: list[PacketEvent] = []

    def prepare(self, network: Network) -> None:
        for name in self._ports:
            network.port(name)

    def events(self) -> dict[str, str]:
        ours = ""
        if len(self._ports) <= MAX_FILTER_PORTS:
            ours = " || ".join(f'name == "{name}"' for name in sorted(self._ports))
        return {QUEUED: ours, LEFT: ours, RECEIVED: ours, FREED: ""}

    def drain(self) -> list[PacketEvent]:
        """Return the events that have arrived since the last call."""
        self.process_all()
        new, self._new = self._new, []
        return new

    def process(self, batch: dict[str, Events]) -> None:
        merged = sorted(
            (order, row, name)
            for name, events in batch.items()
            for row, order in enumerate(events.order.tolist())
        )
        times = {name: self.times_ns(events).tolist() for name, events in batch.items()}
        reasons = self.symbols(FREED)
        for _, row, name in merged:
            events = batch[name]
            address, time_ns = int(events.fields["skbaddr"][row]), times[name][row]
            if name == FREED:
                waiting = self._waiting.pop(address, None)
                if waiting is not None:
                    number = int(events.fields["reason"][row])
                    self._new.append(
                        PacketEvent(
                            time_ns,
                            "dropped",
                            waiting[0],
                            address,
                            waiting[1],
                            reasons.get(number, str(number)),
                        )
                    )
                continue
            port = events.texts["name"][row]
            if port not in self._ports:
                continue
            size = int(events.fields["len"][row])
            if name == QUEUED:
                self._waiting[address] = (port, size)
            elif name == LEFT:
                self._waiting.pop(address, None)
            else:
                size += ETHERNET_BYTES
            self._new.append(PacketEvent(time_ns, _KINDS[name], port, address, size))

    def tables(self) -> dict[str, Table]:
        return {}


class KernelEvents(EventSampler):
    """Counts the events of one kind, such as "tcp/tcp_probe", that pass a filter of the kernel."""

    def __init__(self, event: str, condition: str = "") -> None:
        super().__init__()
        self._event = event
        self._condition = condition
        self._count = 0

    def events(self) -> dict[str, str]:
        return {self._event: self._condition}

    def process(self, batch: dict[str, Events]) -> None:
        self._count += len(batch[self._event].order)

    def drain(self) -> int:
        """Return how many events have arrived since the last call."""
        self.process_all()
        count, self._count = self._count, 0
        return count

    def tables(self) -> dict[str, Table]:
        return {}
