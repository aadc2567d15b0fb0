"""Live curves: everything that can be drawn is sampled all the time, and kept for a while.

So a chart that is opened late shows the past. Samplers read at regular instants of the
network's time, less often in large networks. New samples of what browsers draw are sent to them in
batches. A rate needs the reading before, so the last reading of a batch is kept for the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanlab import Flows, Network, Ports, Queues, Sampling, plot
from wanlab.errors import WanlabError
from wanlab.measure import Processors
from wanlab.record import Table

from ..protocol.commands import SeriesKind, WatchedSeries
from ..protocol.messages import SampleColumn, SamplesPush
from ..timeline.curve_memory import CurveMemory, thinned

INTERVAL_MS = 100
SOURCES_PER_INTERVAL = 150
"""Ports and hosts that are sampled every 100 ms; more are sampled less often."""
MIN_SHARE = 0.01
"""A flow with a smaller share of the busiest flow's bytes is a control connection."""
MIN_FLOW_BYTES = 20_000
"""A flow with fewer bytes is a control connection; those of iperf3 carry less."""

Values = NDArray[np.float64]
Sampler = Flows | Ports | Processors | Queues
OF_PORTS_AND_NODES: tuple[tuple[SeriesKind, str, str], ...] = (
    ("throughput", "port", "bit/s"),
    ("queue", "queue", "B"),
    ("drops", "drops", "packets"),
    ("load", "load", "%"),
)
OF_INTERVALS = ("throughput", "load")
"""Quantities with a value for each two readings, and none for the first."""
OF_FLOWS: tuple[tuple[SeriesKind, str, str, float], ...] = (
    ("cwnd", "snd_cwnd_bytes", "B", 1.0),
    ("rtt", "rtt_us", "s", 1e-6),
)


class FlowKey(NamedTuple):
    """A TCP flow as one of its two hosts sees it."""

    node: str
    flow: str


class Curves:
    """Samples a network, and sends with `push` what browsers draw. Lives in the network's thread.

    memory     keeps the samples; what is in it was sampled before, in another machine
    on_drops   called with a port that has dropped packets, when it was read (in ns), and how many
    """

    def __init__(
        self,
        network: Network,
        push: Callable[[SamplesPush], None],
        memory: CurveMemory,
        on_drops: Callable[[str, int, int], None] = lambda port, now_ns, count: None,
    ) -> None:
        self._network = network
        self._push = push
        self._watched: frozenset[WatchedSeries] = frozenset()
        self._memory = memory
        self._on_drops = on_drops
        self._drops: dict[str, float] = memory.last_values("drops")
        self._acked: dict[FlowKey, float] = {}
        ports = [port for link in network.topology.links for port in link.ports]
        hosts = [host.name for host in network.topology.hosts if not host.in_root]
        self._port_of = {port.node: str(port.name) for port in reversed(ports)}
        names = [str(port.name) for port in ports]
        self._samplers: list[Sampler] = [Ports(*names), Queues(*names)] if names else []
        self._samplers += [Flows(*hosts)] if names and hosts else []
        self._samplers += [Processors()] if Processors.nodes_with_one(network) else []
        self._began_ns = network.now_ns
        self._sampling: Sampling | None = None
        if self._samplers:
            interval_ms = INTERVAL_MS * -(-(len(ports) + len(hosts)) // SOURCES_PER_INTERVAL)
            self._sampling = Sampling(network, self._samplers, every=interval_ms * 10**6)
            self._sampling.begin()

    def watch(self, series: Iterable[WatchedSeries]) -> None:
        """Send new samples of these series from now on, and of no others."""
        self.collect()
        self._watched = frozenset(series)

    def history(self, series: Iterable[WatchedSeries]) -> tuple[SampleColumn, ...]:
        """Return the stored points of these series."""
        self.collect()
        return tuple(self._memory.columns(series))

    def end(self) -> None:
        """Stop sampling."""
        sampling, self._sampling = self._sampling, None
        if sampling is not None:
            with contextlib.suppress(WanlabError):
                sampling.end()

    # -- batches ----------------------------------------------------------------------------------

    def collect(self) -> None:
        """Keep the samples taken since the last call, and send those that are watched."""
        if self._sampling is None:
            return
        self._sampling.flush()
        tables: dict[str, Table] = {}
        for sampler in self._samplers:
            tables |= sampler.tables()
            last = sampler.readings[-1].time_ns if sampler.readings else 0
            sampler.readings[:] = [
                reading for reading in sampler.readings if reading.time_ns == last
            ]
        new = [column for column in self._columns(tables) if self._memory.add(column)]
        if watched := tuple(thinned(column) for column in new if self._is_watched(column)):
            self._push(SamplesPush(columns=watched))

    def _is_watched(self, column: SampleColumn) -> bool:
        return (
            WatchedSeries(column.kind, column.port) in self._watched
            or WatchedSeries(column.kind) in self._watched
        )

    def _columns(self, tables: dict[str, Table]) -> Iterator[SampleColumn]:
        quantities = plot.quantities.QUANTITIES
        for kind, name, unit in OF_PORTS_AND_NODES:
            for curve in quantities[name].find(tables):
                times_s, values = curve.series.times_s, curve.series.values
                if kind == "drops":
                    values = self._drops.get(curve.label, 0.0) + values
                    self._drops[curve.label] = float(values[-1])
                    self._note_drops(curve.label, times_s, values)
                if kind not in OF_INTERVALS:  # the first sample was sent with the batch before
                    times_s, values = times_s[1:], values[1:]
                yield from self._column(kind, curve.label, "", unit, times_s, values)
        if "tcp" in tables:
            yield from self._flow_columns(tables["tcp"])

    def _note_drops(self, port: str, times_s: Values, values: Values) -> None:
        """Pass on the drops of a batch, which begins with the last reading of the one before."""
        counts = np.diff(values)
        for row in np.flatnonzero(counts > 0):
            at_ns = self._began_ns + round(float(times_s[row + 1]) * 1e9)
            self._on_drops(port, at_ns, int(counts[row]))

    def _flow_columns(self, table: Table) -> Iterator[SampleColumn]:
        times_s = np.asarray(table["time_ns"]) / 1e9
        first = times_s[0] if len(times_s) else 0.0
        acked_bytes = np.asarray(table["bytes_acked"], float)
        rows_of: dict[FlowKey, list[int]] = {}
        for row, (node, flow) in enumerate(zip(table["node"], table["flow"], strict=True)):
            rows_of.setdefault(FlowKey(str(node), str(flow)), []).append(row)
        self._acked = {key: float(acked_bytes[rows].max()) for key, rows in rows_of.items()}
        busiest = max(self._acked.values(), default=0.0)
        for key in sorted(rows_of, key=lambda key: -self._acked[key]):
            if self._acked[key] < max(MIN_SHARE * busiest, MIN_FLOW_BYTES):
                break  # control connections, and the receiving sides
            port = self._port_of.get(key.node, "")
            rows = np.array([row for row in rows_of[key] if times_s[row] > first], dtype=int)
            for kind, column, unit, scale in OF_FLOWS:
                if column in table:
                    values = np.asarray(table[column], dtype=float)[rows] * scale
                    if kind == "rtt":
                        values = np.where(values > 0, values, np.nan)
                    yield from self._column(kind, port, key.flow, unit, times_s[rows], values)

    def _column(
        self,
        kind: SeriesKind,
        port: str,
        flow: str,
        unit: str,
        times_s: Values,
        values: Values,
    ) -> Iterator[SampleColumn]:
        if len(times_s):
            times = times_s + self._began_ns / 1e9
            plain = tuple(None if v != v else v for v in values.astype(float).round(9).tolist())
            yield SampleColumn(kind, port, flow, unit, tuple(times.round(6).tolist()), plain)
