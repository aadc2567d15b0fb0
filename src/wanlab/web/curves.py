"""Live curves: what the browsers watch is sampled, and what was sampled goes to them in pieces.

The samplers read at regular instants of the network's time. A piece is all that came since the last
one; a rate needs the reading before, so the last of each piece stays for the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanlab import Flows, Network, Ports, Queues, Sampling, plot
from wanlab.errors import WanlabError
from wanlab.record import Table

from .commands import SeriesKind, WatchedSeries
from .protocol import SampleColumn, SamplesPush

MOST_POINTS = 60
"""Of one curve in one piece: time may pass much faster than anybody can see."""
LEAST_SHARE = 0.01
FASTEST_MS, SLOWEST_MS = 5, 10_000

Values = NDArray[Any]
Sampler = Flows | Ports | Queues
OF_FLOWS: tuple[tuple[SeriesKind, str, str, float], ...] = (
    ("cwnd", "snd_cwnd_bytes", "B", 1.0),
    ("rtt", "rtt_us", "s", 1e-6),
)


class Curves:
    """Lives in the network's thread, but for `wanted`."""

    def __init__(self, tell: Callable[[SamplesPush], None]) -> None:
        self._tell = tell
        self._series: tuple[WatchedSeries, ...] = ()
        self._interval_ms = 100
        self._sampling: Sampling | None = None
        self._samplers: list[Sampler] = []
        self._began_ns = 0
        self._drops: dict[str, float] = {}
        self._nodes: dict[str, str] = {}

    def watch(self, network: Network, series: Iterable[WatchedSeries], interval_ms: int) -> None:
        """From now on these, and no others. Ports that there are not are left out."""
        known = {port.name: port.node for link in network.topology.links for port in link.ports}
        wanted = tuple(one for one in dict.fromkeys(series) if not one.port or one.port in known)
        interval_ms = min(max(interval_ms, FASTEST_MS), SLOWEST_MS)
        if (wanted, interval_ms) == (self._series, self._interval_ms):
            return
        self.collect(network)
        self.end()
        self._series, self._interval_ms = wanted, interval_ms
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
        wanted = [one for one in self._series if one.kind in ("cwnd", "rtt")]
        if any(not one.port for one in wanted):
            return [host.name for host in network.topology.hosts if not host.in_root]
        return list(dict.fromkeys(self._nodes[one.port] for one in wanted))

    # -- pieces -----------------------------------------------------------------------------------

    def collect(self, network: Network) -> None:
        """What came since the last time goes out."""
        if self._sampling is None:
            return
        self._sampling.flush()
        tables: dict[str, Table] = {}
        for sampler in self._samplers:
            tables |= sampler.tables()
            last = sampler.readings[-1].time_ns if sampler.readings else 0
            sampler.readings[:] = [one for one in sampler.readings if one.time_ns == last]
        columns = tuple(self._columns(tables)) if tables else ()
        if columns:
            self._tell(SamplesPush(columns=columns))

    def _columns(self, tables: dict[str, Table]) -> Iterator[SampleColumn]:
        wanted = {(one.kind, one.port) for one in self._series}
        quantities = plot.quantities.QUANTITIES
        of_ports: tuple[tuple[SeriesKind, str, str], ...] = (
            ("throughput", "port", "bit/s"),
            ("queue", "queue", "B"),
            ("drops", "drops", "packets"),
        )
        for kind, name, unit in of_ports:
            for curve in quantities[name].find(tables):
                if (kind, curve.label) not in wanted:
                    continue
                times_s, values = curve.series.times_s, curve.series.values
                if kind == "drops":
                    values = self._drops.get(curve.label, 0.0) + values
                    self._drops[curve.label] = float(values[-1])
                if kind != "throughput":  # the first was sent with the piece before
                    times_s, values = times_s[1:], values[1:]
                yield from self._column(kind, curve.label, "", unit, times_s, values)
        if "tcp" in tables:
            yield from self._of_flows(tables["tcp"], wanted)

    def _of_flows(
        self, table: Table, wanted: set[tuple[SeriesKind, str]]
    ) -> Iterator[SampleColumn]:
        nodes, flows = list(table["node"]), list(table["flow"])
        times_s = np.asarray(table["time_ns"]) / 1e9
        first = times_s[0] if len(times_s) else 0.0
        ports_of = {node: port for port, node in self._nodes.items() if node in nodes}
        asked = {self._nodes[port]: port for _, port in wanted if port}
        whose = np.array([f"{node} {flow}" for node, flow in zip(nodes, flows, strict=True)])
        carried = np.asarray(table["bytes_acked"], float)
        busiest = carried.max(initial=0.0)
        for key in dict.fromkeys(whose.tolist()):
            if carried[whose == key].max() < max(LEAST_SHARE * busiest, 1.0):
                continue  # it controls a test, or only receives
            node, _, flow = key.partition(" ")
            port = asked.get(node) or ports_of.get(node, "")
            rows = (whose == key) & (times_s > first)
            for kind, column, unit, scale in OF_FLOWS:
                if ((kind, port) in wanted or (kind, "") in wanted) and column in table:
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
        if len(times) > MOST_POINTS:
            keep = np.linspace(0, len(times) - 1, MOST_POINTS).astype(int)
            times, numbers = times[keep], numbers[keep]
        plain = tuple(None if value != value else value for value in numbers.round(9).tolist())
        yield SampleColumn(kind, port, flow, unit, tuple(times.round(6).tolist()), plain)
