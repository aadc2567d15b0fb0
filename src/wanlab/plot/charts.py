"""From a record to a panel: which columns a quantity is in, and in which unit it is read.

The tables are expected under the names that measuring gives them:

    iperf3    start_s end_s stream bits_per_second ...    intervals of iperf3
    ping      time_ns rtt_ms ...                          replies
    tcp       time_ns flow rtt_us snd_cwnd_bytes bytes_acked ...
    qdisc     time_ns device handle backlog_bytes ...

`unit="auto"` reads sizes and rates in the unit that keeps numbers short: KB, MB, Gbit/s.

Every panel carries the warnings of its record, so no figure can lose them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from wanlab.errors import RecordError, did_you_mean
from wanlab.plot.panel import Limit, Line, Panel, Values
from wanlab.record import Record, Series, Table

# What each unit on an axis measures, and which power of ten of the base unit it is.
_UNITS = {
    **{"ns": ("time", -9), "us": ("time", -6), "ms": ("time", -3), "s": ("time", 0)},
    **{"B": ("size", 0), "KB": ("size", 3), "MB": ("size", 6), "GB": ("size", 9)},
    **{"bit/s": ("rate", 0), "kbit/s": ("rate", 3), "Mbit/s": ("rate", 6), "Gbit/s": ("rate", 9)},
}

# iperf3 counts these over an interval; its other columns are states at the interval's end.
_OF_WHOLE_INTERVALS = {"bytes", "bits_per_second", "retransmits", "packets", "lost_packets"}

# Connections that carry less than this share of the busiest one are not drawn: they only control
# a test (iperf3 opens one beside its data).
_LEAST_SHARE = 0.01


def throughput(record: Record, *, table: str = "iperf3", unit: str = "Mbit/s") -> Panel:
    """What each stream carried in each interval.

    Of a table of TCP states ("tcp") it is what was acknowledged between two readings.
    """
    series = [
        (label, steps(flow, "bits_per_second"))
        if "bits_per_second" in flow
        else (label, flow.series("bytes_acked").rate())
        for label, flow in flows_of(record[table])
    ]
    return _panel_of(record, "Throughput", unit, series)


def rtt(record: Record, *, ping: str = "ping", tcp: str = "tcp") -> Panel:
    """The round-trip time in ms: replies to ping as points, TCP's smoothed RTT as lines.

    A table that the record does not have is left out; one of the two must be there.
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
    """The congestion window of each flow."""
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
    """How much stands in the queue of a port; `limit_bytes` is how much it may hold.

    A port with several qdiscs has several queues: `handle` says which ("2:").
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
    """Any column of a table over time, a line per flow; `unit` is that of the column unless given.

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
    """Lines of many origins in one unit, chosen if it is "auto"; (label, series, points)."""
    if unit == "auto":
        unit = short_unit([series.values for _, series, _ in named], named[0][1].unit)
    lines = [_line(label, series, unit, points=points) for label, series, points in named]
    return Panel(title, unit, tuple(lines), (), warnings)


def _panel_of(record: Record, title: str, unit: str, series: list[tuple[str, Series]]) -> Panel:
    """A line for each series; all in one unit, chosen if it is "auto"."""
    if unit == "auto" and series:
        unit = short_unit([one.values for _, one in series], series[0][1].unit)
    return _panel(record, title, unit, [_line(label, one, unit) for label, one in series])


def short_unit(values: Sequence[ArrayLike], unit: str) -> str:
    """The unit of the same quantity in which the largest of the values has few digits."""
    quantity, power = _UNITS.get(unit, ("", 0))
    if quantity not in ("size", "rate"):
        return unit
    finite = [part[np.isfinite(part)] for part in (np.asarray(v, np.float64) for v in values)]
    most = max((float(np.abs(part).max()) for part in finite if part.size), default=0.0)
    fitting = [
        name
        for name, (other, other_power) in _UNITS.items()
        if other == quantity and most * 10.0 ** (power - other_power) >= 1
    ]
    return max(fitting, key=lambda name: _UNITS[name][1], default=unit)


def _panel(
    record: Record, title: str, unit: str, lines: list[Line], limits: list[Limit] | None = None
) -> Panel:
    if not lines:
        raise RecordError(f"{title} cannot be drawn: its table is empty")
    return Panel(title, unit, tuple(lines), tuple(limits or ()), record.provenance.warnings)


def flows_of(table: Table) -> Iterator[tuple[str, Table]]:
    """The rows of each flow with its label; "" if there is only one. What iperf3 has omitted (-O) is
    left out: its clock begins anew after it."""
    if "omitted" in table and not np.all(table["omitted"]):
        table = table.where(omitted=False)
    by = next((name for name in ("flow", "stream") if name in table), None)
    if by is None:
        yield "", table
        return
    flows = [table.where(**{by: flow}) for flow in table.distinct(by)]
    if by == "flow":
        carried = [_carried(flow) for flow in flows]
        least = _LEAST_SHARE * max(carried, default=0)
        flows = [flow for flow, size in zip(flows, carried, strict=True) if size >= least]
    both_ways = "sender" in table and len(table.distinct("sender")) > 1
    for number, flow in enumerate(flows, start=1):
        way = (" sent" if np.all(flow["sender"]) else " received") if both_ways else ""
        yield f"{by} {number}{way}" if len(flows) > 1 else "", flow


def _carried(flow: Table) -> float:
    """How busy a flow was: by what was acknowledged, or by how often it was told of."""
    if "bytes_acked" in flow:
        return float(np.max(np.asarray(flow["bytes_acked"])))
    return len(flow)


def _time(table: Table) -> str | None:
    """An interval's state is the one at its end."""
    return "end_s" if "end_s" in table else None


def over_time(table: Table, column: str) -> Series:
    """A column of one flow: over its intervals, or at the instants that it was read."""
    if "end_s" in table and column in _OF_WHOLE_INTERVALS:
        return steps(table, column)
    return table.series(column, time=_time(table))


def where_known(series: Series, *, unknown: float = 0) -> Series:
    """The kernel says 0 for a time, and 2147483647 for a threshold, that it does not have yet."""
    values = np.where(series.values == unknown, np.nan, series.values)
    return Series(series.name, series.unit, series.times_s, values)


def _line(label: str, series: Series, unit: str, *, points: bool = False) -> Line:
    return Line(label, series.times_s, _in_unit(series.values, series.unit, unit), points)


def steps(intervals: Table, column: str) -> Series:
    """What belongs to a whole interval: level from its start to its end."""
    whole = intervals.series(column)
    edges = [np.asarray(intervals[name], dtype=np.float64) for name in ("start_s", "end_s")]
    times_s = np.stack(edges, axis=1).ravel()
    return Series(whole.name, whole.unit, times_s, np.repeat(whole.values, 2))


def _in_unit(values: ArrayLike, given: str, wanted: str) -> Values:
    array = np.asarray(values, dtype=np.float64)
    if given == wanted:
        return array
    quantity, power = _UNITS.get(given, ("", 0))
    wanted_quantity, wanted_power = _UNITS.get(wanted, ("nothing", 0))
    if quantity != wanted_quantity:
        raise RecordError(f"what is in {given or 'no unit'} cannot be drawn in {wanted}")
    # Powers below 1 would not be exact: 2621440 / 1e6 is 2.62144, 2621440 * 1e-6 is not.
    power -= wanted_power
    return array * 10.0**power if power > 0 else array / 10.0**-power
