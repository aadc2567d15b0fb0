"""`wanlab top`: shows ports and flows of the network that it runs in, as `top` shows processes.

    wanlab top - 12.0 s, every 1 s       virtual clock, 5 nodes       sorted by throughput

    NODE   PORT      TX Mbit/s  RX Mbit/s  TX pkt/s     QUEUE  DROPS/s  MARKS/s  KIND
    root   s1-eth2      100.00       1.21      8230    1.3 MB       12        0  tbf+pfifo

    NODE   FLOW                          CC     TX Mbit/s  RX Mbit/s   CWND   RTT ms  RETRANS/s
    h1     10.0.0.1:40 > 10.0.0.3:5201   cubic      95.60       0.00  2.1 MB   141.2          0

Rates are differences of the kernel's counters between two snapshots. This file is pure: it turns two
snapshots and a view into lines of text. Keys and screens are in `top_terminal`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from wanlab.measure.here import NodeCounters
from wanlab.text_table import aligned

SortValue = float | tuple[int | str, ...]


class Row(Protocol):
    """The common part of both kinds of rows."""

    @property
    def tx_bps(self) -> float: ...

    @property
    def rx_bps(self) -> float: ...

    @property
    def is_idle(self) -> bool: ...


RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True)
class PortRow:
    """A port between two snapshots; rates are per second."""

    node: str
    port: str
    tx_bps: float
    rx_bps: float
    tx_packets_ps: float
    backlog_bytes: int
    drops_ps: float
    marks_ps: float
    kind: str

    @property
    def is_idle(self) -> bool:
        return not (self.tx_bps or self.rx_bps or self.backlog_bytes or self.drops_ps)


@dataclass(frozen=True)
class FlowRow:
    """One end of a TCP connection between two snapshots; rates are per second."""

    node: str
    flow: str
    congestion: str
    tx_bps: float
    rx_bps: float
    cwnd_bytes: int
    rtt_ms: float
    retransmits_ps: float

    @property
    def is_idle(self) -> bool:
        return not (self.tx_bps or self.rx_bps)


@dataclass(frozen=True)
class Sorting:
    """An order of both tables. A table without the chosen column is sorted by throughput."""

    name: str
    port: Callable[[PortRow], SortValue]
    flow: Callable[[FlowRow], SortValue]
    largest_first: bool = True


def _throughput(row: Row) -> float:
    return row.tx_bps + row.rx_bps


# By the key that selects it.
ORDERS = {
    "t": Sorting("throughput", _throughput, _throughput),
    "b": Sorting("backlog", lambda row: row.backlog_bytes, _throughput),
    "d": Sorting("drops", lambda row: row.drops_ps, lambda row: row.retransmits_ps),
    "w": Sorting("window", _throughput, lambda row: row.cwnd_bytes),
    "r": Sorting("rtt", _throughput, lambda row: row.rtt_ms),
    "n": Sorting(
        "name",
        lambda row: (len(row.node), row.node, len(row.port), row.port),
        lambda row: (len(row.node), row.node, row.flow),
        largest_first=False,
    ),
}
KEYS = "sort by t throughput, b backlog, d drops, w window, r RTT, n name; i show idle; q quit"


@dataclass(frozen=True)
class View:
    """The order and the rows that the user has chosen."""

    sorting: str = "t"
    shows_idle: bool = False

    def pressed(self, key: str) -> View:
        """Return the view after a key was pressed; other keys change nothing."""
        if key in ORDERS:
            return replace(self, sorting=key)
        return replace(self, shows_idle=not self.shows_idle) if key == "i" else self


@dataclass(frozen=True)
class Snapshot:
    """The counters of all nodes at a time."""

    time_s: float
    nodes: Sequence[NodeCounters]


# -- from two snapshots to rows ---------------------------------------------------------------------


def port_rows(before: Snapshot, after: Snapshot) -> list[PortRow]:
    """Return the ports that are up; a new port has no rates yet."""
    seconds = max(after.time_s - before.time_s, 1e-9)
    old = {(node.name, port.name): (node, port) for node in before.nodes for port in node.ports}
    rows = []
    for node in after.nodes:
        for port in node.ports:
            if port.is_loopback or not port.is_up:
                continue
            queue = node.queues[port.name]
            old_node, old_port = old.get((node.name, port.name), (node, port))
            old_queue = old_node.queues[port.name]
            rows.append(
                PortRow(
                    node=node.name,
                    port=port.name,
                    tx_bps=_rate(old_port.tx_bytes, port.tx_bytes, seconds) * 8,
                    rx_bps=_rate(old_port.rx_bytes, port.rx_bytes, seconds) * 8,
                    tx_packets_ps=_rate(old_port.tx_packets, port.tx_packets, seconds),
                    backlog_bytes=queue.backlog_bytes,
                    drops_ps=_rate(old_queue.drops, queue.drops, seconds),
                    marks_ps=_rate(old_queue.marks, queue.marks, seconds),
                    kind="+".join((("netem",) if queue.delays else ()) + queue.kinds),
                )
            )
    return rows


def flow_rows(before: Snapshot, after: Snapshot) -> list[FlowRow]:
    """Return the flows. The kernel's socket cookie identifies a flow in both snapshots."""
    seconds = max(after.time_s - before.time_s, 1e-9)
    old = {(node.name, flow.cookie): flow for node in before.nodes for flow in node.flows}
    rows = []
    for node in after.nodes:
        for flow in node.flows:
            if not flow.info:
                continue
            info = flow.info
            known = old.get((node.name, flow.cookie))
            # All bytes of a new flow were carried since the first snapshot.
            old_info = known.info if known else {}
            rows.append(
                FlowRow(
                    node=node.name,
                    flow=flow.flow.replace("::ffff:", "").replace("[", "").replace("]", ""),
                    congestion=flow.congestion,
                    tx_bps=_rate(old_info.get("bytes_acked", 0), info["bytes_acked"], seconds) * 8,
                    rx_bps=_rate(old_info.get("bytes_received", 0), info["bytes_received"], seconds)
                    * 8,
                    cwnd_bytes=info["snd_cwnd_bytes"],
                    rtt_ms=info["rtt_us"] / 1000,
                    retransmits_ps=_rate(
                        old_info.get("total_retrans_packets", 0),
                        info["total_retrans_packets"],
                        seconds,
                    ),
                )
            )
    return rows


def _rate(before: int, after: int, seconds: float) -> float:
    """Return the rate, never below 0: a counter restarts when its queue is replaced."""
    return max(0, after - before) / seconds


# -- from rows to text ------------------------------------------------------------------------------


def text(
    before: Snapshot, after: Snapshot, view: View, *, about: str, rows: int | None = None
) -> list[str]:
    """Return the lines to show; `rows` is how many fit on the screen, None for all."""
    sorting = ORDERS[view.sorting]
    names = ORDERS["n"]
    ports = _select(port_rows(before, after), sorting.port, names.port, sorting, view)
    flows = _select(flow_rows(before, after), sorting.flow, names.flow, sorting, view)
    every_s = after.time_s - before.time_s
    head = f"wanlab top - {after.time_s:.1f} s, over {every_s:.3g} s   {about}"
    lines = [f"{head}   sorted by {sorting.name}", ""]
    if rows is not None:
        available = max(2, rows - len(lines) - 3)
        flow_count = min(len(flows), max(available // 2, available - len(ports)))
        flows, ports = flows[:flow_count], ports[: available - flow_count]
    lines += _table(PORT_COLUMNS, ports)
    lines += ["", *_table(FLOW_COLUMNS, flows)]
    return lines if rows is None else lines[:rows]


def _select(
    rows: Sequence[RowT],
    key: Callable[[RowT], SortValue],
    by_name: Callable[[RowT], SortValue],
    sorting: Sorting,
    view: View,
) -> list[RowT]:
    selected = [row for row in rows if view.shows_idle or not row.is_idle]
    # Sort equal rows by throughput, then by name, so that lines do not jump.
    selected.sort(key=by_name)
    selected.sort(key=_throughput, reverse=True)
    return sorted(selected, key=key, reverse=sorting.largest_first)


def size(value: float) -> str:
    """Return a number of bytes with three significant digits."""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"


# (title, text of a row, whether it is a number)
PORT_COLUMNS: Sequence[tuple[str, Callable[[PortRow], str], bool]] = (
    ("NODE", lambda row: row.node, False),
    ("PORT", lambda row: row.port, False),
    ("TX Mbit/s", lambda row: f"{row.tx_bps / 1e6:.2f}", True),
    ("RX Mbit/s", lambda row: f"{row.rx_bps / 1e6:.2f}", True),
    ("TX pkt/s", lambda row: f"{row.tx_packets_ps:.0f}", True),
    ("QUEUE", lambda row: size(row.backlog_bytes), True),
    ("DROPS/s", lambda row: f"{row.drops_ps:.0f}", True),
    ("MARKS/s", lambda row: f"{row.marks_ps:.0f}", True),
    ("KIND", lambda row: row.kind, False),
)
FLOW_COLUMNS: Sequence[tuple[str, Callable[[FlowRow], str], bool]] = (
    ("NODE", lambda row: row.node, False),
    ("FLOW", lambda row: row.flow, False),
    ("CC", lambda row: row.congestion, False),
    ("TX Mbit/s", lambda row: f"{row.tx_bps / 1e6:.2f}", True),
    ("RX Mbit/s", lambda row: f"{row.rx_bps / 1e6:.2f}", True),
    ("CWND", lambda row: size(row.cwnd_bytes), True),
    ("RTT ms", lambda row: f"{row.rtt_ms:.2f}", True),
    ("RETRANS/s", lambda row: f"{row.retransmits_ps:.0f}", True),
)


def _table(
    columns: Sequence[tuple[str, Callable[[RowT], str], bool]], rows: Sequence[RowT]
) -> list[str]:
    cells = [[title for title, _, _ in columns]]
    cells += [[value(row) for _, value, _ in columns] for row in rows]
    return aligned(cells, "".join(">" if is_number else "<" for _, _, is_number in columns))
