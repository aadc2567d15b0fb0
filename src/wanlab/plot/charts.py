"""Turn a record into a panel: find a quantity's columns and convert them to the panel's unit.

The tables are expected under the names that the samplers use:

    iperf3    start_s end_s stream bits_per_second ...    intervals of iperf3
    ping      time_ns rtt_ms ...                          replies
    tcp       time_ns flow rtt_us snd_cwnd_bytes bytes_acked ...
    qdisc     time_ns device handle backlog_bytes ...

`unit="auto"` shows sizes and rates in the unit that keeps numbers short: KB, MB, Gbit/s.

Every panel has the warnings of its record, so no figure can lose them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from wanlab.errors import RecordError, did_you_mean
from wanlab.plot.panel import Limit, Line, Panel, Values
from wanlab.record import Record, Series, Table

# The dimension of each unit on an axis, and its power of ten of the base unit.
_UNITS = {
    **{"ns": ("time", -9), "us": ("time", -6), "ms": ("time", -3), "s": ("time", 0)},
    **{"B": ("size", 0), "KB": ("size", 3), "MB": ("size", 6), "GB": ("size", 9)},
    **{"bit/s": ("rate", 0), "kbit/s": ("rate", 3), "Mbit/s": ("rate", 6), "Gbit/s": ("rate", 9)},
}

# iperf3 counts these over an interval; its other columns are states at the interval's end.
_INTERVAL_COLUMNS = {"bytes", "bits_per_second", "retransmits", "packets", "lost_packets"}

# With fewer segments than this, one segment too many may raise a mean above the link's rate: the
# headers are 66 of 1514 bytes, as much as 3 segments in 64.
_MIN_SEGMENTS = 64

# Connections that carry less than this share of the busiest one are not drawn: they only control
# a test (iperf3 opens a control connection).
_MIN_SHARE = 0.01


def throughput(record: Record, *, table: str = "iperf3", unit: str = "Mbit/s") -> Panel:
    """Return the throughput of each stream in each interval.

    For a table of TCP states ("tcp") it is the delivery rate, averaged over a round trip.
    """
    series = [
        (label, steps(flow, "bits_per_second"))
        if "bits_per_second" in flow
        else (label, delivery_rate(flow))
        for label, flow in flows_of(record[table])
    ]
    return _panel_of(record, "Throughput", unit, series)


def rtt(record: Record, *, ping: str = "ping", tcp: str = "tcp") -> Panel:
    """Return the round-trip time in ms: ping's replies as points, TCP's smoothed RTT as lines.

    The record needs only one of the two tables; raise RecordError if it has neither.
    """
    lines = []
    if tcp in record:
        for label, flow in flows_of(record[tcp]):
            name = " ".join(("TCP srtt", label)).strip()
            lines.append(_line(name, where_known(flow.series("rtt_us", time=_time(flow))), "ms"))
    if ping in record:
        lines.append(_line("ping", record[ping].series("rtt_ms"), "ms", points=True))
    if not lines:
        raise RecordError(
            f"the record has neither a table {ping!r} nor {tcp!r}",
            did_you_mean(tcp, record.tables),
        )
    return _panel(record, "RTT", "ms", lines)


def congestion_window(record: Record, *, table: str = "tcp", unit: str = "MB") -> Panel:
    """Return the congestion window of each flow."""
    return quantity(record, table, "snd_cwnd_bytes", title="Congestion window", unit=unit)


def queue(
    record: Record,
    *,
    device: str,
    handle: str | None = None,
    limit_bytes: int | None = None,
    table: str = "qdisc",
    unit: str = "MB",
) -> Panel:
    """Return the length of a port's queue; `limit_bytes` is drawn as its limit.

    A port with several qdiscs has several queues: `handle` ("2:") selects one.
    """
    rows = record[table].where(device=device)
    if not len(rows):
        devices = record[table].distinct("device")
        raise RecordError(f"no queue of {device!r} was measured", did_you_mean(device, devices))
    handles = rows.distinct("handle")
    if handle is None and len(handles) > 1:
        raise RecordError(f"{device} has several queues", f"choose one of {', '.join(handles)}")
    rows = rows.where(handle=handles[0] if handle is None else handle)
    if not len(rows):
        raise RecordError(f"{device} has no queue {handle!r}", did_you_mean(str(handle), handles))
    limits = []
    if limit_bytes is not None:
        limits.append(Limit("limit", float(_in_unit(limit_bytes, "B", unit))))
    line = _line("queue", rows.series("backlog_bytes"), unit)
    return _panel(record, "Queue", unit, [line], limits)


def quantity(record: Record, table: str, column: str, *, title: str, unit: str = "") -> Panel:
    """Return any column of a table over time, one line per flow, by default in the column's unit.

    `quantity(record, "tcp", "total_retrans_packets", title="Retransmissions")`
    """
    rows = record[table]
    unit = unit or rows.column(column).unit
    series = [(label, over_time(flow, column)) for label, flow in flows_of(rows)]
    return _panel_of(record, title, unit, series)


def common_panel(
    title: str,
    unit: str,
    named: Sequence[tuple[str, Series, bool]],
    warnings: tuple[str, ...],
) -> Panel:
    """Return a panel of (label, series, points) in one unit, which is chosen if it is "auto"."""
    if unit == "auto":
        unit = short_unit([series.values for _, series, _ in named], named[0][1].unit)
    lines = [_line(label, series, unit, points=points) for label, series, points in named]
    return Panel(title, unit, tuple(lines), (), warnings)


def _panel_of(record: Record, title: str, unit: str, series: list[tuple[str, Series]]) -> Panel:
    """Return a panel with a line for each series, in one unit, chosen if it is "auto"."""
    if unit == "auto" and series:
        unit = short_unit([curve.values for _, curve in series], series[0][1].unit)
    return _panel(record, title, unit, [_line(label, curve, unit) for label, curve in series])


def short_unit(values: Sequence[ArrayLike], unit: str) -> str:
    """Return the unit of the same dimension in which the largest value has few digits."""
    quantity, power = _UNITS.get(unit, ("", 0))
    if quantity not in ("size", "rate"):
        return unit
    finite = [part[np.isfinite(part)] for part in (np.asarray(v, np.float64) for v in values)]
    largest = max((float(np.abs(part).max()) for part in finite if part.size), default=0.0)
    fitting = [
        name
        for name, (other, other_power) in _UNITS.items()
        if other == quantity and largest * 10.0 ** (power - other_power) >= 1
    ]
    return max(fitting, key=lambda name: _UNITS[name][1], default=unit)


def _panel(
    record: Record, title: str, unit: str, lines: list[Line], limits: list[Limit] | None = None
) -> Panel:
    if not lines:
        raise RecordError(f"cannot draw {title}: its table is empty")
    return Panel(title, unit, tuple(lines), tuple(limits or ()), record.provenance.warnings)


def flows_of(table: Table) -> Iterator[tuple[str, Table]]:
    """Yield the label and the rows of each flow; the label is "" if there is only one.

    The omitted intervals of `iperf3 -O` are left out: its clock restarts after them.
    """
    if "omitted" in table and not np.all(table["omitted"]):
        table = table.where(omitted=False)
    by = next((name for name in ("flow", "stream") if name in table), None)
    if by is None:
        yield "", table
        return
    flows = [table.where(**{by: flow}) for flow in table.distinct(by)]
    if by == "flow":
        volumes = [_volume(flow) for flow in flows]
        minimum = _MIN_SHARE * max(volumes, default=0)
        flows = [flow for flow, volume in zip(flows, volumes, strict=True) if volume >= minimum]
    is_bidirectional = "sender" in table and len(table.distinct("sender")) > 1
    for number, flow in enumerate(flows, start=1):
        direction = ""
        if is_bidirectional:
            direction = " sent" if np.all(flow["sender"]) else " received"
        yield f"{by} {number}{direction}" if len(flows) > 1 else "", flow


def _volume(flow: Table) -> float:
    """Return the acknowledged bytes of a flow, or its number of rows if they are unknown."""
    if "bytes_acked" in flow:
        return float(np.max(np.asarray(flow["bytes_acked"])))
    return len(flow)


def _time(table: Table) -> str | None:
    """Return the time column of states: those of an interval belong to its end."""
    return "end_s" if "end_s" in table else None


def over_time(table: Table, column: str) -> Series:
    """Return a column of one flow: over its intervals, or at the times of its readings."""
    if "end_s" in table and column in _INTERVAL_COLUMNS:
        return steps(table, column)
    return table.series(column, time=_time(table))


def delivery_rate(flow: Table) -> Series:
    """Return the rate at which a flow's data arrived, from its sender's states (table "tcp").

    `bytes_acked` grows by a whole window at once when a lost segment has been repaired, so its rate
    would exceed the link's. `delivered_packets` also counts data that arrived after the lost segment,
    from selective acknowledgements (tcp_sock.delivered, net/ipv4/tcp_rate.c). The curve is its
    growth, in mean segments of the flow, over the last round trip, and over no fewer than 64
    segments: counting whole segments in shorter intervals would exceed the link's rate, too.
    """
    acked = flow.series("bytes_acked")
    if "delivered_packets" not in flow or len(flow) < 2:
        return acked.rate()
    packets = np.asarray(flow["delivered_packets"], np.float64)
    count = packets[-1] - packets[0]
    if count <= 0:
        return acked.rate()
    times_s = acked.times_s
    total_bytes = (packets - packets[0]) * float(acked.values[-1] - acked.values[0]) / count
    window_s = _averaging_time_s(flow, times_s, count)
    starts_s = times_s - np.maximum(window_s, np.diff(times_s, prepend=times_s[0]))
    is_whole = (starts_s >= times_s[0]) & (np.diff(times_s, prepend=-np.inf) > 0)
    growth = total_bytes - np.interp(starts_s, times_s, total_bytes)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = 8 * growth / (times_s - starts_s)
    return Series("delivery rate", "bit/s", times_s[is_whole], rates[is_whole])


def _averaging_time_s(flow: Table, times_s: Values, packets: float) -> float:
    """Return a round trip, or the time of 64 segments at the mean rate, whichever is longer."""
    duration_s = float(times_s[-1] - times_s[0])
    rtts_us = np.asarray(flow["rtt_us"], np.float64) if "rtt_us" in flow else np.zeros(1)
    known = rtts_us[rtts_us > 0]
    rtt_s = float(np.median(known)) / 1e6 if len(known) else 0.0
    return min(max(rtt_s, _MIN_SEGMENTS * duration_s / packets), duration_s / 4)


def where_known(series: Series, *, unknown: float = 0) -> Series:
    """Replace the value by which the kernel means "unknown" (0 for a time) with NaN."""
    values = np.where(series.values == unknown, np.nan, series.values)
    return Series(series.name, series.unit, series.times_s, values)


def _line(label: str, series: Series, unit: str, *, points: bool = False) -> Line:
    return Line(label, series.times_s, _in_unit(series.values, series.unit, unit), points)


def steps(intervals: Table, column: str) -> Series:
    """Return a column of whole intervals as steps: constant from each start to its end."""
    whole = intervals.series(column)
    edges = [np.asarray(intervals[name], dtype=np.float64) for name in ("start_s", "end_s")]
    times_s = np.stack(edges, axis=1).ravel()
    return Series(whole.name, whole.unit, times_s, np.repeat(whole.values, 2))


def _in_unit(values: ArrayLike, unit: str, target: str) -> Values:
    array = np.asarray(values, dtype=np.float64)
    if unit == target:
        return array
    dimension, power = _UNITS.get(unit, ("", 0))
    target_dimension, target_power = _UNITS.get(target, ("nothing", 0))
    if dimension != target_dimension:
        raise RecordError(f"cannot convert {unit or 'a plain number'} to {target}")
    # Negative powers of ten are not exact: 2621440 / 1e6 is 2.62144, 2621440 * 1e-6 is not.
    power -= target_power
    return array * 10.0**power if power > 0 else array / 10.0**-power
