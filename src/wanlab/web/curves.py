"""Live curves: what browsers draw is sampled, and sent to them in batches.

Samplers read at regular instants of the network's time. A batch holds all samples since the last
one. A rate needs the reading before, so the last reading of a batch is kept for the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from wanlab import Flows, Network, Ports, Queues, Sampling, plot
from wanlab.errors import WanlabError
from wanlab.record import Table

from .commands import SeriesKind, WatchedSeries
from .protocol import SampleColumn, SamplesPush

MAX_POINTS = 60
"""Of one curve in one batch: time may pass much faster than anybody can see."""
MIN_SHARE = 0.01
"""Of the bytes of the busiest flow; flows with fewer are control connections."""
MIN_INTERVAL_MS, MAX_INTERVAL_MS = 5, 10_000

Values = NDArray[np.float64]
Sampler = Flows | Ports | Queues
FLOW_SERIES: tuple[tuple[SeriesKind, str, str, float], ...] = (
    ("cwnd", "snd_cwnd_bytes", "B", 1.0),
    ("rtt", "rtt_us", "s", 1e-6),
)


class Curves:
    """Samples what browsers draw, and sends it with `push`. Lives in the network's thread."""

    def __init__(self, push: Callable[[SamplesPush], None]) -> None:
        self._push = push
        self._series: tuple[WatchedSeries, ...] = ()
        self._interval_ms = 100
        self._sampling: Sampling | None = None
        self._samplers: list[Sampler] = []
        self._began_ns = 0
        self._drops: dict[str, float] = {}
        self._nodes: dict[str, str] = {}

    def watch(self, network: Network, series: Iterable[WatchedSeries], interval_ms: int) -> None:
        """Sample these series from now on, and no others. Unknown ports are ignored."""
        known = {port.name: port.node for link in network.topology.links for port in link.ports}
        watched = tuple(one for one in dict.fromkeys(series) if not one.port or one.port in known)
        interval_ms = min(max(interval_ms, MIN_INTERVAL_MS), MAX_INTERVAL_MS)
        if (watched, interval_ms) == (self._series, self._interval_ms):
            return
        self.collect(network)
        self.end()
        self._series, self._interval_ms = watched, interval_ms
        self._nodes = {str(name): node for name, node in known.items()}
        self._samplers = list(self._samplers_for(network))
        if not self._samplers:
            return
        self._began_ns = network.now_ns
        self._drops.clear()
        sampling = Sampling(network, self._samplers, every=interval_ms * 10**6)
        sampling.begin()
        self._sampling = sampling

    def end(self) -> None:
        """Stop sampling."""
        sampling, self._sampling = self._sampling, None
        self._samplers = []
        self._series = ()
        if sampling is not None:
            with contextlib.suppress(WanlabError):
                sampling.end()

    def _ports(self, *kinds: SeriesKind) -> list[str]:
        return list(
            dict.fromkeys(one.port for one in self._series if one.kind in kinds and one.port)
        )

    def _samplers_for(self, network: Network) -> Iterator[Sampler]:
        if ports := self._ports("throughput"):
            yield Ports(*ports)
        if ports := self._ports("queue", "drops"):
            yield Queues(*ports)
        if nodes := self._nodes_with_flows(network):
            yield Flows(*nodes)

    def _nodes_with_flows(self, network: Network) -> list[str]:
        watched = [one for one in self._series if one.kind in ("cwnd", "rtt")]
        if any(not one.port for one in watched):
            return [host.name for host in network.topology.hosts if not host.in_root]
        return list(dict.fromkeys(self._nodes[one.port] for one in watched))

    # -- batches ----------------------------------------------------------------------------------

    def collect(self, network: Network) -> None:
        """Send the samples taken since the last call."""
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
        columns = tuple(self._columns(tables)) if tables else ()
        if columns:
            self._push(SamplesPush(columns=columns))

    def _columns(self, tables: dict[str, Table]) -> Iterator[SampleColumn]:
        watched = {(one.kind, one.port) for one in self._series}
        quantities = plot.quantities.QUANTITIES
        of_ports: tuple[tuple[SeriesKind, str, str], ...] = (
            ("throughput", "port", "bit/s"),
            ("queue", "queue", "B"),
            ("drops", "drops", "packets"),
        )
        for kind, name, unit in of_ports:
            for curve in quantities[name].find(tables):
                if (kind, curve.label) not in watched:
                    continue
                times_s, values = curve.series.times_s, curve.series.values
                if kind == "drops":
                    values = self._drops.get(curve.label, 0.0) + values
                    self._drops[curve.label] = float(values[-1])
                if kind != "throughput":  # the first was sent with the batch before
                    times_s, values = times_s[1:], values[1:]
                yield from self._column(kind, curve.label, "", unit, times_s, values)
        if "tcp" in tables:
            yield from self._flow_columns(tables["tcp"], watched)

    def _flow_columns(
        self, table: Table, watched: set[tuple[SeriesKind, str]]
    ) -> Iterator[SampleColumn]:
        nodes, flows = list(table["node"]), list(table["flow"])
        times_s = np.asarray(table["time_ns"]) / 1e9
        first = times_s[0] if len(times_s) else 0.0
        ports_of = {node: port for port, node in self._nodes.items() if node in nodes}
        port_of_node = {self._nodes[port]: port for _, port in watched if port}
        keys = np.array([f"{node} {flow}" for node, flow in zip(nodes, flows, strict=True)])
        acked_bytes = np.asarray(table["bytes_acked"], float)
        busiest = acked_bytes.max(initial=0.0)
        for key in dict.fromkeys(keys.tolist()):
            if acked_bytes[keys == key].max() < max(MIN_SHARE * busiest, 1.0):
                continue  # a control connection, or the receiving side
            node, _, flow = key.partition(" ")
            port = port_of_node.get(node) or ports_of.get(node, "")
            rows = (keys == key) & (times_s > first)
            for kind, column, unit, scale in FLOW_SERIES:
                if ((kind, port) in watched or (kind, "") in watched) and column in table:
                    values = np.asarray(table[column], dtype=float)[rows] * scale
                    if kind == "rtt":
                        values = np.where(values > 0, values, np.nan)
                    yield from self._column(kind, port, flow, unit, times_s[rows], values)

    def _column(
        self,
        kind: SeriesKind,
        port: str,
        flow: str,
        unit: str,
        times_s: Values,
        values: Values,
    ) -> Iterator[SampleColumn]:
        if not len(times_s):
            return
        times, numbers = times_s + self._began_ns / 1e9, values.astype(float)
        if len(times) > MAX_POINTS:
            keep = np.linspace(0, len(times) - 1, MAX_POINTS).astype(int)
            times, numbers = times[keep], numbers[keep]
        plain = tuple(None if value != value else value for value in numbers.round(9).tolist())
        yield SampleColumn(kind, port, flow, unit, tuple(times.round(6).tolist()), plain)
