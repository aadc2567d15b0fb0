"""The curves of a test: received data and round-trip times.

Throughput is the data that arrived at the receiver: the segments that its sockets counted
(tcpi_data_segs_in), times the mean payload of the flow's segments. Acknowledged bytes would jump
whenever a hole in the sequence numbers is filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wanlab import Record
from wanlab.plot import Line, Panel
from wanlab.record import Table
from wanlab.standard_tests.experiment import LoadFlow

INTERVAL_S = 0.2
"""Throughput is the mean over this time, as in Flent."""
TITLES = {"down": "Download", "up": "Upload"}
PINGS = {"ping": "ping", "ping_bk": "ping BK", "ping_ef": "ping EF"}


class Received(NamedTuple):
    """The bytes that had arrived at each reading."""

    times_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    total_bytes: np.ndarray[tuple[int], np.dtype[np.float64]]


def panels(record: Record, flows: list[LoadFlow]) -> list[Panel]:
    """Return the panels of download, upload and ping, without those that the test does not have."""
    shown = []
    for way in ("down", "up"):
        lines = list(throughputs(record, [flow for flow in flows if flow.name.startswith(way)]))
        if lines:
            shown.append(Panel(TITLES[way], "Mbit/s", tuple(lines), (), record.provenance.warnings))
    return [*shown, ping_panel(record)]


def ping_panel(record: Record, label: str = "") -> Panel:
    """Return the round-trip times of each class of pings."""
    names = [name for name in PINGS if name in record]
    lines = []
    for name in names:
        series = record[name].series("rtt_ms")
        text = label or (PINGS[name] if len(names) > 1 else "")
        lines.append(Line(text, series.times_s, series.values))
    return Panel("Ping", "ms", tuple(lines), (), record.provenance.warnings)


def throughputs(record: Record, flows: list[LoadFlow]) -> Iterator[Line]:
    """Yield a line for each flow, and one for all of them together if there are several.

    Each value is the mean over the interval that ends at its time.
    """
    if "tcp" not in record or not flows:
        return
    tcp = record["tcp"]
    edges = np.arange(0, float(np.max(np.asarray(tcp["time_ns"])) / 1e9) + INTERVAL_S, INTERVAL_S)
    total = np.zeros(len(edges) - 1)
    for flow in flows:
        rows = tcp.where(node=flow.receiver, local_port=flow.port)
        rates = np.zeros(len(edges) - 1)
        for received in _connections(rows):
            at_edges = np.interp(edges, received.times_s, received.total_bytes)
            rates += np.diff(at_edges) * 8e-6 / INTERVAL_S
        total += rates
        name = flow.name.partition(" ")[2] if len(flows) > 1 else ""
        yield Line(name, edges[1:], rates)
    if len(flows) > 1:
        yield Line("total", edges[1:], total)


def _connections(rows: Table) -> Iterator[Received]:
    for flow in rows.distinct("flow"):
        of_flow = rows.where(flow=flow)
        segments = np.asarray(of_flow["data_segs_in_packets"], np.float64)
        received = np.asarray(of_flow["bytes_received"], np.float64)
        if segments[-1] > 0:
            times_s = np.asarray(of_flow["time_ns"], np.float64) / 1e9
            yield Received(times_s, segments * received[-1] / segments[-1])
