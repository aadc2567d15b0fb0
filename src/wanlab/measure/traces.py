"""Samplers that record every event instead of reading counters at intervals.

They are used like any other sampler. The kernel's trace points record each event with its time on the
network's clock. The agent fetches the records repeatedly, while time stands still.

    Acks              tcp:tcp_probe, at the start of tcp_rcv_established(): a segment arrived
    Retransmissions   tcp:tcp_retransmit_skb
    Sojourns          net:net_dev_queue, when a packet reaches a port, before its queue;
                      net:net_dev_start_xmit, when its driver begins to send it; skb:kfree_skb. One
                      packet keeps its address in memory from one to the next.
    Drops             skb:kfree_skb: every packet that the kernel dropped, and why
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from wanlab.errors import WanlabError
from wanlab.netlink import framing
from wanlab.network import Network
from wanlab.record import Table

from .columns import Array, Columns
from .interfaces import ADDRESSES, address_in
from .readings import Beginning, Reading, Source, Stream
from .tcp_info import STATES, address_text, flow_name
from .trace_pages import EventFormat, Events, decode

RING_BYTES = 32 << 20
BATCH_BYTES = 4 << 20
ROOT = ""

EventColumns = dict[str, Array | list[str]]


class EventSampler:
    """Base of samplers of events, which add `process` and `tables`."""

    def __init__(self) -> None:
        self._pages: list[bytes] = []
        self._bytes = 0
        self._formats: dict[str, EventFormat] = {}
        self._shift_ns = 0
        self._has_processed = False

    def prepare(self, network: Network) -> None:
        """Check nothing: all of wanlab's kernels have these trace points."""

    def sources(self) -> Sequence[Source]:
        return []

    def events(self) -> dict[str, str]:
        """Return the events to trace, each with a filter of the kernel ("" is none)."""
        raise NotImplementedError

    def streams(self) -> Sequence[Stream]:
        return [{"what": "events", "node": ROOT, "events": self.events(), "ring_bytes": RING_BYTES}]

    def began(self, beginning: Beginning) -> None:
        (stream,) = beginning.streams
        formats = stream["formats"]
        assert isinstance(formats, dict), "the agent describes the events that it follows"
        self._formats = {name: EventFormat.of(text) for name, text in formats.items()}
        self._shift_ns = beginning.time_ns - beginning.clock_ns

    def take(self, reading: Reading) -> None:
        self._pages.append(reading.data)
        self._bytes += len(reading.data)
        if self._bytes >= BATCH_BYTES:
            self.process_all()

    def process_all(self) -> None:
        """Process the events that have arrived since the last call: the first time also if none have."""
        if self._pages or not self._has_processed:
            self._has_processed = True
            batch = decode(b"".join(self._pages), self._formats)
            self._pages.clear()
            self._bytes = 0
            self.process(batch)

    def process(self, batch: dict[str, Events]) -> None:
        """Process the events of one batch, by the names that `events` returns."""
        raise NotImplementedError

    def times_ns(self, events: Events) -> Array:
        """Return the times of events on the clock of the tables."""
        times: Array = events.times_ns + self._shift_ns
        return times

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        self.process_all()
        name = type(self).__name__
        return [f"{name}: {count} events were lost" for count in lost if count]

    def symbols(self, event: str) -> dict[int, str]:
        """Return the names that the kernel prints for values of an event's fields."""
        return dict(self._formats[event].symbols)

    def reasons(self, numbers: Array) -> list[str]:
        """Return the kernel's names for the reasons of `skb:kfree_skb`."""
        names = self.symbols(FREED)
        return [names.get(number, str(number)) for number in numbers.tolist()]


# -- TCP --------------------------------------------------------------------------------------------


class OfNodes(EventSampler):
    """Base of samplers of socket events. A socket's node is found by its address."""

    def __init__(self, *nodes: str) -> None:
        super().__init__()
        self._nodes = nodes
        self._node_of: dict[str, str] = {}
        self._network: Network | None = None
        self._kept: list[EventColumns] = []

    def prepare(self, network: Network) -> None:
        self._network = network
        self._read_addresses()

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        self._read_addresses()  # addresses may have been added during the run
        return super().ended(lost)

    def _read_addresses(self) -> None:
        assert self._network is not None
        names = [self._network[node].namespace for node in self._nodes]
        parts = self._network.read([["route", name, ADDRESSES] for name in names])
        for node, part in zip(self._nodes, parts, strict=True):
            for _, message in framing.dumps(part):
                address = address_in(message)
                text = address_text(address.family, address.raw)
                if not text.startswith("127.") and text != "::1":
                    self._node_of.setdefault(text, node)

    def keep(self, columns: EventColumns) -> None:
        """Keep the events of one batch for `tables_named`."""
        self._kept.append(columns)

    def tables_named(self, name: str) -> dict[str, Table]:
        """Return the kept events of the chosen nodes as one table."""
        flows = [flow for batch in self._kept for flow in batch["flow"]]
        nodes = [self._node_of.get(_local_address(flow), "") for flow in flows]
        is_chosen = np.array([node != "" for node in nodes], dtype=bool)
        columns: Columns = {}
        for column in self._kept[0]:
            parts = [batch[column] for batch in self._kept]
            arrays = [part for part in parts if isinstance(part, np.ndarray)]
            if arrays:
                columns[column] = np.concatenate(arrays)
            else:
                columns[column] = _texts([str(value) for part in parts for value in part])
            if column == "time_ns":
                columns["node"] = _texts(nodes)
        return {name: Table.of(columns).rows(is_chosen)}


class Acks(OfNodes):
    """Trace every segment that an established TCP socket of some nodes receives, into table "ack".

    Each row has the sender's state before it processes the segment.
    """

    def events(self) -> dict[str, str]:
        return {"tcp/tcp_probe": ""}

    def process(self, batch: dict[str, Events]) -> None:
        events = batch["tcp/tcp_probe"]
        fields = events.fields
        self.keep(
            {
                "time_ns": self.times_ns(events),
                "flow": _flows(fields["saddr"], fields["daddr"]),
                "received_bytes": _numbers(fields["data_len"]),
                "snd_nxt": _numbers(fields["snd_nxt"]),
                "snd_una": _numbers(fields["snd_una"]),
                "in_flight_bytes": _numbers(fields["snd_nxt"] - fields["snd_una"]),
                "snd_cwnd_packets": _numbers(fields["snd_cwnd"]),
                "snd_ssthresh_packets": _numbers(fields["ssthresh"]),
                "snd_wnd_bytes": _numbers(fields["snd_wnd"]),
                "rcv_wnd_bytes": _numbers(fields["rcv_wnd"]),
                "rtt_us": _numbers(fields["srtt"]),
            }
        )

    def tables(self) -> dict[str, Table]:
        return self.tables_named("ack")


class Retransmissions(OfNodes):
    """Trace every segment that TCP sockets of some nodes retransmit, into table "retransmission"."""

    def events(self) -> dict[str, str]:
        return {"tcp/tcp_retransmit_skb": ""}

    def process(self, batch: dict[str, Events]) -> None:
        events = batch["tcp/tcp_retransmit_skb"]
        fields = events.fields
        # IPv4 addresses are there in both forms; the IPv6 form is used for all of them.
        flows = [
            flow_name(
                address_text(socket.AF_INET6, bytes(local)),
                local_port,
                address_text(socket.AF_INET6, bytes(remote)),
                remote_port,
            )
            for local, local_port, remote, remote_port in zip(
                fields["saddr_v6"].tolist(),
                fields["sport"].tolist(),
                fields["daddr_v6"].tolist(),
                fields["dport"].tolist(),
                strict=True,
            )
        ]
        states = [STATES[state] for state in fields["state"].tolist()]
        self.keep({"time_ns": self.times_ns(events), "flow": flows, "state": states})

    def tables(self) -> dict[str, Table]:
        return self.tables_named("retransmission")


def _texts(values: list[str]) -> list[str] | Array:
    """Return a column of texts that is one also if it is empty."""
    return values or np.empty(0, dtype=str)


def _numbers(values: Array) -> Array:
    return values.astype(np.int64)


def _flows(local: Array, remote: Array) -> list[str]:
    """Return the names of flows from struct sockaddr_in or sockaddr_in6 of both ends."""
    known: dict[tuple[bytes, bytes], str] = {}
    names = []
    for ends in zip(local.tolist(), remote.tolist(), strict=True):
        name = known.get(ends)
        if name is None:
            name = known[ends] = flow_name(*_address_and_port(ends[0]), *_address_and_port(ends[1]))
        names.append(name)
    return names


def _address_and_port(raw: bytes) -> tuple[str, int]:
    """Parse struct sockaddr_in or sockaddr_in6."""
    family = int.from_bytes(raw[:2], "little")
    address = raw[4:8] if family == socket.AF_INET else raw[8:24]
    return address_text(family, address), int.from_bytes(raw[2:4], "big")


def _local_address(flow: str) -> str:
    """Return the address of the sender of a flow."""
    return flow.partition(" > ")[0].rpartition(":")[0].strip("[]")


# -- ports ------------------------------------------------------------------------------------------

QUEUED, LEFT, FREED = "net/net_dev_queue", "net/net_dev_start_xmit", "skb/kfree_skb"
# The numbers of these kinds of events in `_PortEvents`. _NOTHING: no later event of the packet yet.
_NOTHING, _QUEUED, _LEFT, _FREED = -1, 0, 1, 2


class Sojourns(EventSampler):
    """Measure how long each packet stays at a port, into table "sojourn".

    The sojourn lasts from when the packet reaches the port until its driver begins to send it: the
    time in the whole tree of qdiscs, including a delay by netem. Packets that were dropped there are
    in table "queue_drop".
    """

    def __init__(self, *ports: str) -> None:
        super().__init__()
        if not ports:
            raise WanlabError(
                "Sojourns needs at least one port", 'Sojourns("s1-eth2"), for example'
            )
        self._ports = ports
        self._waiting = _Packets.joined([])
        self._left: list[_Packets] = []
        self._dropped: list[tuple[_Packets, list[str]]] = []
        self._unmatched = 0

    def prepare(self, network: Network) -> None:
        for name in self._ports:
            network.port(name)

    def events(self) -> dict[str, str]:
        ours = " || ".join(f'name == "{name}"' for name in self._ports)
        return {QUEUED: ours, LEFT: ours, FREED: ""}

    def process(self, batch: dict[str, Events]) -> None:
        """Pair each packet's arrival at a port with the next event of the same packet.

        The next event says how the packet left the port. If it is another arrival, the packet has
        been segmented. If there is none, the packet still waits, and the next batch may have it.
        """
        events = self._all_events(batch)
        # In this order, the events of each packet are together, in the order of time.
        rows = np.lexsort((events.order, events.address))
        next_rows = np.roll(rows, -1)
        address, kind = events.address[rows], events.kind[rows]
        has_next = address == np.roll(address, -1)
        has_next[-1:] = False  # np.roll puts the first event after the last one
        next_kind = np.where(has_next, np.roll(kind, -1), _NOTHING)
        is_arrival = kind == _QUEUED

        def arrivals_before(event_kind: int) -> tuple[Array, Array]:
            """Return the rows of arrivals with a next event of this kind, and those of the events."""
            is_chosen = is_arrival & (next_kind == event_kind)
            return rows[is_chosen], next_rows[is_chosen]

        arrivals, drops = arrivals_before(_FREED)
        self._dropped.append((events.stays(arrivals, drops), self.reasons(events.reason[drops])))
        self._left.append(events.stays(*arrivals_before(_LEFT)))
        self._unmatched += len(arrivals_before(_QUEUED)[0])
        self._waiting = events.stays(*arrivals_before(_NOTHING))

    def _all_events(self, batch: dict[str, Events]) -> _PortEvents:
        """Return the events of a batch, and the arrivals of packets that still wait.

        The arrivals of packets that wait since an earlier batch come before all events of this one.
        """
        waiting, queued = self._waiting, batch[QUEUED]
        index_of = {name: index for index, name in enumerate(self._ports)}
        ports = np.array([index_of[name] for name in queued.texts["name"]], dtype=np.int64)
        count = len(waiting.address)
        none = np.zeros(count, dtype=np.int64)
        parts = (
            _PortEvents(
                np.arange(-count, 0),
                np.full(count, _QUEUED, dtype=np.int8),
                waiting.address,
                waiting.since_ns,
                waiting.size,
                waiting.port,
                none,
            ),
            self._port_events(_QUEUED, queued, size=_numbers(queued.fields["len"]), port=ports),
            self._port_events(_LEFT, batch[LEFT]),
            self._port_events(_FREED, batch[FREED], reason=_numbers(batch[FREED].fields["reason"])),
        )
        return _PortEvents.joined(parts)

    def _port_events(
        self,
        kind: int,
        events: Events,
        *,
        size: Array | None = None,
        port: Array | None = None,
        reason: Array | None = None,
    ) -> _PortEvents:
        """Return events of one kind; columns that this kind does not have are 0."""
        none = np.zeros(len(events.order), dtype=np.int64)
        return _PortEvents(
            events.order,
            np.full(len(events.order), kind, dtype=np.int8),
            events.fields["skbaddr"],
            self.times_ns(events),
            none if size is None else size,
            none if port is None else port,
            none if reason is None else reason,
        )

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        warnings = list(super().ended(lost))
        if self._unmatched:
            ports = ", ".join(self._ports)
            warnings.append(
                f"{ports}: {self._unmatched} packets were segmented in the queue and did "
                "not leave as they came in: their sojourn is unknown"
            )
        return warnings

    def tables(self) -> dict[str, Table]:
        self.process_all()
        left = _Packets.joined(self._left)
        dropped = _Packets.joined([packets for packets, _ in self._dropped])
        sojourns, _ = self._columns(left)
        drops, order = self._columns(dropped)
        reasons = [reason for _, of_batch in self._dropped for reason in of_batch]
        drops["reason"] = _texts([reasons[index] for index in order.tolist()])
        return {"sojourn": Table.of(sojourns), "queue_drop": Table.of(drops)}

    def _columns(self, packets: _Packets) -> tuple[Columns, Array]:
        """Return columns in the order in which the packets left, and that order as indexes."""
        order = np.lexsort((packets.since_ns, packets.until_ns))
        columns: Columns = {
            "time_ns": packets.until_ns[order],
            "device": _texts([self._ports[index] for index in packets.port[order].tolist()]),
            "packet_bytes": packets.size[order],
            "sojourn_ns": (packets.until_ns - packets.since_ns)[order],
        }
        return columns, order


@dataclass(frozen=True)
class _Packets:
    """Packets that reached a port, as columns: one row for each stay of a packet at a port."""

    address: Array
    """In the machine's memory, by which the events of a packet recognise it."""
    since_ns: Array
    size: Array
    port: Array
    """The index of the port."""
    until_ns: Array
    """When the packet left or was dropped; without meaning while it waits."""

    @classmethod
    def joined(cls, parts: Sequence[_Packets]) -> _Packets:
        nothing = np.empty(0, dtype=np.int64)
        none = cls(nothing.astype(np.uint64), nothing, nothing, nothing, nothing)
        return cls(*_concatenated(cls, (none, *parts)))


@dataclass(frozen=True)
class _PortEvents:
    """Events of packets at ports, as columns."""

    order: Array
    """The position in the kernel's ring."""
    kind: Array
    """_QUEUED, _LEFT or _FREED."""
    address: Array
    time_ns: Array
    size: Array
    port: Array
    reason: Array
    """The number of the reason for a drop."""

    @classmethod
    def joined(cls, parts: Sequence[_PortEvents]) -> _PortEvents:
        return cls(*_concatenated(cls, parts))

    def stays(self, arrivals: Array, ends: Array) -> _Packets:
        """Return the packets that arrived in some rows; `ends` are the rows of their next events."""
        return _Packets(
            self.address[arrivals],
            self.time_ns[arrivals],
            self.size[arrivals],
            self.port[arrivals],
            self.time_ns[ends],
        )


def _concatenated(cls: type[_Packets | _PortEvents], parts: Sequence[object]) -> list[Array]:
    """Return each column of a class, from all parts."""
    return [np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)]


class Drops(EventSampler):
    """Trace every packet that the machine's kernel drops, with the reason, into table "drop"."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[tuple[Array, list[str], Array]] = []
        """For each batch: the times, reasons and protocols of its drops."""

    def events(self) -> dict[str, str]:
        return {FREED: "protocol != 0"}  # without the kernel's own messages

    def process(self, batch: dict[str, Events]) -> None:
        events = batch[FREED]
        reasons = self.reasons(events.fields["reason"])
        self._kept.append((self.times_ns(events), reasons, _numbers(events.fields["protocol"])))

    def tables(self) -> dict[str, Table]:
        self.process_all()
        protocols = [number for _, _, numbers in self._kept for number in numbers.tolist()]
        columns: Columns = {
            "time_ns": np.concatenate([times for times, _, _ in self._kept]),
            "reason": _texts([reason for _, reasons, _ in self._kept for reason in reasons]),
            "protocol": _texts([f"0x{number:04x}" for number in protocols]),
        }
        return {"drop": Table.of(columns)}
