"""The quantities of a record that can be drawn, by name: those that `wanlab plot` offers.

    quantities.panels({"1 BDP": record}, what=["rtt", "queue"])      panels over time
    quantities.panels({"1 BDP": first, "10 BDP": second})            the lines of several runs
    quantities.available(record)                                     the names of its quantities

A quantity finds its columns itself: the throughput comes from iperf3 if it ran, and otherwise from TCP's
acknowledged data. "TABLE.COLUMN" names any column of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wanlab.errors import RecordError, did_you_mean
from wanlab.plot.charts import common_panel, delivery_rate, flows_of, over_time, steps, where_known
from wanlab.plot.panel import Panel
from wanlab.record import Record, Series, Table
from wanlab.record.qdisc_tree import queue_weights

NO_SSTHRESH = 2**31 - 1  # before the first loss


@dataclass(frozen=True)
class Curve:
    """The data of one line, in the unit of its column."""

    label: str
    series: Series
    points: bool = False


class Tables(Protocol):
    """The tables of a record, or of a measurement that is not finished."""

    def __getitem__(self, name: str, /) -> Table: ...

    def __contains__(self, name: object, /) -> bool: ...


Finder = Callable[[Tables], Iterator[Curve]]


@dataclass(frozen=True)
class Quantity:
    """A quantity that can be drawn. A usual quantity is drawn by default."""

    name: str
    title: str
    unit: str
    find: Finder
    is_usual: bool = True
    is_shown_if_zero: bool = True


# -- the columns of each quantity -------------------------------------------------------------------


def _throughput(record: Tables) -> Iterator[Curve]:
    if _has(record, "iperf3", "bits_per_second"):
        for label, flow in flows_of(record["iperf3"]):
            yield Curve(label, steps(flow, "bits_per_second"))
    elif _has(record, "tcp", "bytes_acked"):
        for label, flow in flows_of(record["tcp"]):
            yield Curve(label, delivery_rate(flow))
    yield from _of_flent("flent_throughput", "bits_per_second")(record)


def _ports(record: Tables) -> Iterator[Curve]:
    if _has(record, "port", "tx_bytes"):
        for port, rows in groups(record["port"], "device"):
            yield Curve(port, rows.series("tx_bytes").rate())


def _rtt(record: Tables) -> Iterator[Curve]:
    for curve in _of_flows("tcp", "rtt_us")(record):
        yield Curve(f"TCP srtt {curve.label}".strip(), where_known(curve.series))
    if not _has(record, "tcp", "rtt_us"):
        yield from _of_flows("iperf3", "rtt_us")(record)
    if _has(record, "ping", "rtt_ms"):
        yield Curve("ping", record["ping"].series("rtt_ms"), points=True)
    yield from _of_flent("flent_ping", "rtt_ms")(record)


def _rttvar(record: Tables) -> Iterator[Curve]:
    """Leave out values before the first RTT sample, which are the kernel's initial 250 ms."""
    if _has(record, "tcp", "rttvar_us"):
        for label, flow in flows_of(record["tcp"]):
            series = flow.series("rttvar_us")
            known = np.where(np.asarray(flow["rtt_us"]) > 0, series.values, np.nan)
            yield Curve(label, Series(series.name, series.unit, series.times_s, known))


def _ssthresh(record: Tables) -> Iterator[Curve]:
    for curve in _of_flows("tcp", "snd_ssthresh_packets")(record):
        yield Curve(curve.label, where_known(curve.series, unknown=NO_SSTHRESH))


def _cwnd(record: Tables) -> Iterator[Curve]:
    table = "tcp" if _has(record, "tcp", "snd_cwnd_bytes") else "iperf3"
    yield from _of_flows(table, "snd_cwnd_bytes")(record)


def _retransmits(record: Tables) -> Iterator[Curve]:
    """Yield TCP's total since the record began, or iperf3's number in each interval."""
    if _has(record, "tcp", "total_retrans_packets"):
        for curve in _of_flows("tcp", "total_retrans_packets")(record):
            yield Curve(curve.label, _growth(curve.series))
    else:
        yield from _of_flows("iperf3", "retransmits")(record)


def _queue(record: Tables) -> Iterator[Curve]:
    if _has(record, "qdisc", "backlog_bytes"):
        for port, rows in groups(record["qdisc"], "device"):
            yield Curve(port, _of_queue(rows, "backlog_bytes"))


def _drops(record: Tables) -> Iterator[Curve]:
    if _has(record, "qdisc", "drops"):
        for port, rows in groups(record["qdisc"], "device"):
            yield Curve(port, _growth(_of_queue(rows, "drops")))


def _marks(record: Tables) -> Iterator[Curve]:
    if _has(record, "qdisc", "marks"):
        for port, rows in groups(record["qdisc"], "device"):
            times, index = np.unique(np.asarray(rows["time_ns"]), return_inverse=True)
            marks = np.bincount(index, weights=np.asarray(rows["marks"], np.float64))
            yield Curve(port, _growth(Series("marks", "", times / 1e9, marks)))


def _sojourn(record: Tables) -> Iterator[Curve]:
    if _has(record, "sojourn", "sojourn_ns"):
        for port, rows in groups(record["sojourn"], "device"):
            yield Curve(port, rows.series("sojourn_ns"), points=True)


def _load(record: Tables) -> Iterator[Curve]:
    """Yield for each node how much of the time its busiest core worked, between two readings."""
    if _has(record, "processor", "core"):
        for node, rows in groups(record["processor"], "node"):
            times_ns, at = np.unique(np.asarray(rows["time_ns"]), return_inverse=True)
            cores, core = np.unique(np.asarray(rows["core"]), return_inverse=True)
            worked_ns = np.zeros((len(times_ns), len(cores)))
            for name in set(rows.names) - {"time_ns", "node", "core"}:
                np.add.at(worked_ns, (at, core), np.asarray(rows[name], np.float64))
            shares = np.diff(worked_ns, axis=0) / np.diff(times_ns)[:, np.newaxis]
            # Work is counted when it begins, and may end after the reading.
            percents = 100 * np.minimum(shares.max(axis=1, initial=0.0), 1.0)
            yield Curve(node, Series("load", "%", times_ns[1:] / 1e9, percents))


def _of_flows(table: str, column: str) -> Finder:
    def find(record: Tables) -> Iterator[Curve]:
        if _has(record, table, column):
            for label, flow in flows_of(record[table]):
                yield Curve(label, over_time(flow, column))

    return find


def _of_flent(table: str, column: str) -> Finder:
    def find(record: Tables) -> Iterator[Curve]:
        if _has(record, table, column):
            for name, rows in groups(record[table], "series"):
                yield Curve(name, rows.series(column))

    return find


QUANTITIES: dict[str, Quantity] = {
    quantity.name: quantity
    for quantity in (
        Quantity("throughput", "Throughput", "auto", _throughput),
        Quantity("port", "Sent by port", "auto", _ports),
        Quantity("rtt", "RTT", "ms", _rtt),
        Quantity("cwnd", "Congestion window", "auto", _cwnd),
        Quantity("queue", "Queue", "auto", _queue),
        Quantity("sojourn", "Time at the port", "ms", _sojourn),
        Quantity("drops", "Drops", "", _drops),
        Quantity("marks", "ECN marks", "", _marks, is_shown_if_zero=False),
        Quantity("load", "Busiest core", "%", _load),
        Quantity("retransmits", "Retransmissions", "", _retransmits),
        Quantity("lost", "Lost packets", "", _of_flows("iperf3", "lost_packets")),
        Quantity("jitter", "Jitter", "ms", _of_flows("iperf3", "jitter_ms")),
        Quantity(
            "inflight", "In flight", "packets", _of_flows("tcp", "unacked_packets"), is_usual=False
        ),
        Quantity("ssthresh", "ssthresh", "packets", _ssthresh, is_usual=False),
        Quantity("rttvar", "RTT variation", "ms", _rttvar, is_usual=False),
        Quantity(
            "pacing", "Pacing rate", "auto", _of_flows("tcp", "pacing_rate_bps"), is_usual=False
        ),
        Quantity(
            "delivery",
            "Delivery rate",
            "auto",
            _of_flows("tcp", "delivery_rate_bps"),
            is_usual=False,
        ),
    )
}


# -- panels -----------------------------------------------------------------------------------------


def available(record: Record) -> list[str]:
    """Return the names of the quantities that a record has."""
    return [
        name for name, quantity in QUANTITIES.items() if any(True for _ in quantity.find(record))
    ]


def panels(
    runs: Mapping[str, Record],
    what: Sequence[str] | None = None,
    *,
    ports: Sequence[str] = (),
) -> list[Panel]:
    """Return a panel for each quantity in `what`, with the lines of all runs.

    The default is every usual quantity that a run has. `ports` selects lines in the panels that have
    a line for each port. Raise RecordError for an unknown quantity, or if nothing is left to draw.
    """
    chosen = usual(runs) if what is None else [_quantity(name, runs) for name in what]
    if not chosen:
        tables = sorted({name for record in runs.values() for name in record.tables})
        raise RecordError(
            "the record has none of the usual quantities",
            f"draw a column: TABLE.COLUMN of {', '.join(tables)}" if tables else "it is empty",
        )
    return [_panel(quantity, runs, ports) for quantity in chosen]


def columns(
    runs: Mapping[str, Record],
    what: Sequence[str] | None = None,
    *,
    ports: Sequence[str] = (),
) -> dict[str, list[Panel]]:
    """Return the panels of each run, for `comparison`: the same quantities, each in one unit.

    The default is every usual quantity that all runs have.
    """
    if what is None:
        first, *others = (usual({name: run}) for name, run in runs.items())
        names = [quantity.name for quantity in first if all(quantity in one for one in others)]
    else:
        names = list(what)
    if not names:
        raise RecordError(
            "the records have no usual quantity in common", "name some: --what, or draw each alone"
        )
    together = panels(runs, names, ports=ports)
    quantities = [
        replace(_quantity(name, runs), unit=panel.unit)
        for name, panel in zip(names, together, strict=True)
    ]
    return {
        name: [_panel(quantity, {name: run}, ports) for quantity in quantities]
        for name, run in runs.items()
    }


def usual(runs: Mapping[str, Record]) -> list[Quantity]:
    """Return the usual quantities that at least one of the runs has."""
    return [
        quantity
        for quantity in QUANTITIES.values()
        if quantity.is_usual
        and any(
            quantity.is_shown_if_zero or np.any(curve.series.values)
            for record in runs.values()
            for curve in quantity.find(record)
        )
    ]


def _quantity(name: str, runs: Mapping[str, Record]) -> Quantity:
    if name in QUANTITIES:
        return QUANTITIES[name]
    table, dot, column = name.partition(".")
    if not dot:
        known = list(dict.fromkeys(n for record in runs.values() for n in available(record)))
        raise RecordError(f"there is no quantity {name!r}", did_you_mean(name, known))
    for record in runs.values():
        unit = record[table].column(column).unit
    return Quantity(name, name, "auto" if unit in ("B", "bit/s") else unit, _any(table, column))


def _any(table: str, column: str) -> Finder:
    """Find any column: a line for each flow, or for each port and queue, or a single line."""

    def find(record: Tables) -> Iterator[Curve]:
        rows = record[table]
        if {"flow", "stream"} & set(rows.names):
            yield from _of_flows(table, column)(record)
            return
        by = [name for name in ("device", "node", "kind", "handle", "processor") if name in rows]
        for label, group in groups(rows, *by):
            yield Curve(label, over_time(group, column))

    return find


def _panel(quantity: Quantity, runs: Mapping[str, Record], ports: Sequence[str]) -> Panel:
    named: list[tuple[str, Series, bool]] = []
    known: list[str] = []
    for run, record in runs.items():
        curves = list(quantity.find(record))
        if ports and quantity.find in _OF_PORTS:
            known += [curve.label for curve in curves]
            curves = [curve for curve in curves if curve.label in ports]
        for curve in curves:
            label = curve.label if len(curves) > 1 or len(runs) == 1 else ""
            name = f"{run} {label}".strip() if len(runs) > 1 else label
            named.append((name, curve.series, curve.points))
    if known and not named:
        raise RecordError(
            f"nothing was recorded at port {', '.join(ports)}", did_you_mean(ports[0], known)
        )
    if not named:
        recorded = list(dict.fromkeys(n for record in runs.values() for n in available(record)))
        raise RecordError(
            f"no {quantity.name} was recorded",
            f"the record has {', '.join(recorded)}" if recorded else "the record is empty",
        )
    return common_panel(quantity.title, quantity.unit, named, warnings_of(runs))


_OF_PORTS = (_ports, _queue, _drops, _marks, _sojourn)


def warnings_of(runs: Mapping[str, Record]) -> tuple[str, ...]:
    """Return the warnings of all runs, preceded by the run's name if there are several."""
    return tuple(
        f"{run}: {warning}" if len(runs) > 1 else warning
        for run, record in runs.items()
        for warning in record.provenance.warnings
    )


# -- tables -----------------------------------------------------------------------------------------


def groups(table: Table, *by: str) -> Iterator[tuple[str, Table]]:
    """Yield a label and the rows for each combination of values in the columns `by`."""
    if not by:
        yield "", table
        return
    numbers: dict[tuple[object, ...], int] = {}
    columns = [_listed(table, name) for name in by]
    codes = np.fromiter(
        (numbers.setdefault(key, len(numbers)) for key in zip(*columns, strict=True)),
        dtype=np.int64,
        count=len(table),
    )
    for key, number in numbers.items():
        yield " ".join(map(str, key)), table.rows(codes == number)


def _listed(table: Table, name: str) -> Sequence[object]:
    values = table[name]
    return values.tolist() if isinstance(values, np.ndarray) else values


def _of_queue(rows: Table, column: str) -> Series:
    """Return the sum of a column over a port's qdiscs, without the delay line (netem).

    A qdisc's count includes those of its children, so each is weighted; see `record.qdisc_tree`.
    """
    times, index = np.unique(np.asarray(rows["time_ns"]), return_inverse=True)
    total = np.bincount(
        index, weights=_weights(rows) * np.asarray(rows[column], np.float64), minlength=len(times)
    )
    return Series(column, rows.column(column).unit, times / 1e9, np.maximum(total, 0.0))


def _weights(rows: Table) -> NDArray[np.float64]:
    if "kind" not in rows or "parent" not in rows:
        return np.ones(len(rows))
    kinds, handles, parents = (_texts(rows, name) for name in ("kind", "handle", "parent"))
    return np.array(queue_weights(kinds, handles, parents), dtype=np.float64)


def _texts(rows: Table, name: str) -> list[str]:
    return list(map(str, _listed(rows, name)))


def _growth(series: Series) -> Series:
    """Return a counter's growth since its first reading, carried on where the counter restarted."""
    increments = np.maximum(np.diff(series.values.astype(np.float64)), 0.0)
    values = np.concatenate([np.zeros(min(1, len(series.values))), np.cumsum(increments)])
    return Series(series.name, "", series.times_s, values)


def _has(record: Tables, table: str, column: str) -> bool:
    return table in record and len(record[table]) > 0 and column in record[table]
