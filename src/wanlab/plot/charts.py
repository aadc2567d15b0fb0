"""From a record to a panel: which columns a quantity is in, and in which unit it is read.

The tables are expected under the names that measuring gives them:

    iperf3    start_s end_s stream bits_per_second ...    intervals of iperf3
    ping      time_ns rtt_ms ...                          replies
    tcp       time_ns flow rtt_us snd_cwnd_bytes bytes_acked ...
    qdisc     time_ns device handle backlog_bytes ...

Every panel carries the warnings of its record, so no figure can lose them.
"""

from collections.abc import Iterator

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

# Connections that carry less than this share of the busiest one are not drawn: they only control
# a test (iperf3 opens one beside its data).
_LEAST_SHARE = 0.01


def throughput(record: Record, *, table: str = "iperf3") -> Panel:
    """What each stream carried in each interval, in Mbit/s.

    Of a table of TCP states ("tcp") it is what was acknowledged between two readings.
    """
    lines = []
    for label, flow in _flows(record[table]):
        if "bits_per_second" in flow:
            lines.append(_steps(label, flow))
        else:
            lines.append(_line(label, flow.series("bytes_acked").rate(), "Mbit/s"))
    return _panel(record, "Throughput", "Mbit/s", lines)


def rtt(record: Record, *, ping: str = "ping", tcp: str = "tcp") -> Panel:
    """The round-trip time in ms: replies to ping as points, TCP's smoothed RTT as lines.

    A table that the record does not have is left out; one of the two must be there.
    """
    lines = []
    if tcp in record:
        for label, flow in _flows(record[tcp]):
            name = " ".join(("TCP srtt", label)).strip()
            lines.append(_line(name, flow.series("rtt_us", time=_time(flow)), "ms"))
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
    lines = [
        _line(label, flow.series(column, time=_time(flow)), unit) for label, flow in _flows(rows)
    ]
    return _panel(record, title, unit, lines)


def _panel(
    record: Record, title: str, unit: str, lines: list[Line], limits: list[Limit] | None = None
) -> Panel:
    if not lines:
        raise RecordError(f"{title} cannot be drawn: its table is empty")
    return Panel(title, unit, tuple(lines), tuple(limits or ()), record.provenance.warnings)


def _flows(table: Table) -> Iterator[tuple[str, Table]]:
    """The rows of each flow with its label; "" if there is only one."""
    by = next((name for name in ("flow", "stream") if name in table), None)
    if by is None:
        yield "", table
        return
    flows = [table.where(**{by: flow}) for flow in table.distinct(by)]
    if "bytes_acked" in table:
        carried = [np.max(np.asarray(flow["bytes_acked"])) for flow in flows]
        least = _LEAST_SHARE * max(carried, default=0)
        flows = [flow for flow, size in zip(flows, carried, strict=True) if size >= least]
    for number, flow in enumerate(flows, start=1):
        yield f"flow {number}" if len(flows) > 1 else "", flow


def _time(table: Table) -> str | None:
    """An interval's state is the one at its end."""
    return "end_s" if "end_s" in table else None


def _line(label: str, series: Series, unit: str, *, points: bool = False) -> Line:
    return Line(label, series.times_s, _in_unit(series.values, series.unit, unit), points)


def _steps(label: str, intervals: Table) -> Line:
    """Means over intervals: level from the start of each to its end."""
    means = intervals.series("bits_per_second")
    edges = [np.asarray(intervals[name], dtype=np.float64) for name in ("start_s", "end_s")]
    values = np.repeat(_in_unit(means.values, means.unit, "Mbit/s"), 2)
    return Line(label, np.stack(edges, axis=1).ravel(), values)


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
