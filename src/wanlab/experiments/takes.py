"""How a YAML file says what a metric is: out of a program's output, or out of a table.

    flow.iperf3.received.mbps      flow.iperf3.sent.retransmits      flow.ping.mean_ms
    flow.seconds                   flow.number(took ([0-9.]+) s)     flow.json.end.streams
    mean(tcp.rtt_us)               p95(sojourn.sojourn_ns, device=s1-eth2)

A program is called by its name (`as`). Of a table: mean, median, min, max, sum, first, last, growth (the
last less the first), count, and p1 to p99.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wanlab.errors import WanlabError, did_you_mean
from wanlab.measure import iperf3, ping
from wanlab.network import Process
from wanlab.record import Table

from .run import Metric


@dataclass(frozen=True)
class Evidence:
    """What there is when the programs have run."""

    programs: Mapping[str, Process]
    tables: Mapping[str, Table]


Take = Callable[[Evidence], Metric]
_OF_TABLE = re.compile(r"(\w+)\(\s*([a-z][\w-]*)\.(\w+)\s*((?:,\s*\w+\s*=\s*[^,()]+)*)\)")
_OF_PROGRAM = re.compile(r"([\w-]+)\.(.+)", re.DOTALL)
REDUCTIONS: dict[str, Callable[[Any], float]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "growth": lambda values: values[-1] - values[0],
    "count": len,
}
PING_UNITS = {
    **{"min_ms": "ms", "mean_ms": "ms", "max_ms": "ms", "deviation_ms": "ms"},
    **{"sent": "", "received": "", "loss_fraction": "", "duplicates": ""},
}
IPERF3_UNITS = {
    **{"mbps": "Mbit/s", "gbps": "Gbit/s", "bytes": "B", "seconds": "s", "jitter_ms": "ms"},
    **{"retransmits": "", "packets": "packets", "lost_packets": "packets"},
}
POWERS = {"mbps": 1e6, "gbps": 1e9}


def parse_take(text: str) -> Take:
    """WanlabError for what is none."""
    if found := _OF_TABLE.fullmatch(text.strip()):
        return _of_table(found[1], found[2], found[3], found[4])
    if (found := _OF_PROGRAM.fullmatch(text.strip())) and "(" not in found[1]:
        program, rest = found.groups()
        take = _of_program(rest, text)
        return lambda evidence: take(_program(evidence, program))
    raise WanlabError(
        f'"{text}" is no metric', "as in flow.iperf3.received.mbps, or mean(tcp.rtt_us)"
    )


# -- tables ---------------------------------------------------------------------------------------


def _of_table(reduction: str, table: str, column: str, conditions: str) -> Take:
    reduce = _reduction(reduction)
    where = {
        name.strip(): value.strip()
        for name, _, value in (
            part.partition("=") for part in conditions.split(",") if part.strip()
        )
    }

    def take(evidence: Evidence) -> Metric:
        if table not in evidence.tables:
            raise WanlabError(
                f"nothing was sampled into a table {table!r}", did_you_mean(table, evidence.tables)
            )
        rows = evidence.tables[table]
        for name, value in where.items():
            rows = rows.where(**{name: _like(rows, name, value)})
        found = rows.column(column)
        if not isinstance(found.values, np.ndarray):
            raise WanlabError(f"the column {column} of {table} holds texts, not numbers")
        known = found.values[np.isfinite(found.values)]
        if not len(known) and reduction != "count":
            raise WanlabError(f"{table}.{column} has no values{_of(where)}")
        unit = "" if reduction == "count" else found.unit
        return Metric(float(reduce(known)), unit)

    return take


def _reduction(name: str) -> Callable[[Any], float]:
    if found := re.fullmatch(r"p(\d\d?)", name):
        return lambda values: float(np.percentile(values, int(found[1])))
    if name not in REDUCTIONS:
        raise WanlabError(f"{name}() is not known", did_you_mean(name, [*REDUCTIONS, "p95"]))
    return REDUCTIONS[name]


def _like(rows: Table, name: str, value: str) -> Any:
    """The value as the column holds its own."""
    kind = rows.column(name).kind
    try:
        return {"int64": int, "float64": float}.get(kind, str)(value)
    except ValueError:
        raise WanlabError(f"{name} holds numbers, and {value!r} is none") from None


def _of(where: Mapping[str, str]) -> str:
    return "".join(f" of {name} {value}" for name, value in where.items())


# -- programs -------------------------------------------------------------------------------------


def _program(evidence: Evidence, name: str) -> Process:
    try:
        return evidence.programs[name]
    except KeyError:
        raise WanlabError(
            f"there is no program {name!r}", did_you_mean(name, evidence.programs)
        ) from None


def _of_program(rest: str, text: str) -> Callable[[Process], Metric]:
    kind, _, word = rest.partition(".")
    if rest == "seconds":
        return _seconds
    if found := re.fullmatch(r"number\((.*)\)", rest, re.DOTALL):
        return _number(found[1])
    if kind == "ping" and word in PING_UNITS:
        return lambda process: Metric(
            _known(getattr(ping.parse(process.output), word), text), PING_UNITS[word]
        )
    if kind == "iperf3":
        return _iperf3(word, text)
    if kind == "json" and word:
        return lambda process: Metric(_in_json(process.output, word.split("."), text))
    known = ["iperf3.received.mbps", "ping.mean_ms", "seconds", "number(REGEX)", "json.KEY"]
    raise WanlabError(f'"{text}" is no metric', did_you_mean(rest, known))


def _seconds(process: Process) -> Metric:
    if process.ended_ns is None:
        raise WanlabError(f"`{process.command}` has not ended", "give the experiment more time")
    return Metric((process.ended_ns - process.started_ns) / 1e9, "s")


def _number(pattern: str) -> Callable[[Process], Metric]:
    try:
        known = re.compile(pattern)
    except re.error as error:
        raise WanlabError(f"{pattern!r} is no regular expression: {error}") from None
    if known.groups != 1:
        raise WanlabError(f"{pattern!r} has no group", "put the number into brackets: ([0-9.]+)")

    def take(process: Process) -> Metric:
        found = known.findall(process.output)
        if not found:
            raise WanlabError(f"{pattern!r} is not in what `{process.command}` printed")
        return Metric(float(found[-1]))

    return take


def _iperf3(word: str, text: str) -> Callable[[Process], Metric]:
    side, _, what = word.partition(".")
    if side not in ("sent", "received") or what not in IPERF3_UNITS:
        sides = [f"iperf3.{side}.{what}" for side in ("received", "sent") for what in IPERF3_UNITS]
        raise WanlabError(f'"{text}" is no metric', did_you_mean(f"iperf3.{word}", sides))

    def take(process: Process) -> Metric:
        total = iperf3.parse(process.output_bytes).totals.get(side)
        if total is None:
            raise WanlabError(f"iperf3 does not say what was {side}")
        if what in POWERS:
            return Metric(total.bits_per_second / POWERS[what], IPERF3_UNITS[what])
        return Metric(_known(getattr(total, what), text), IPERF3_UNITS[what])

    return take


def _in_json(output: str, keys: list[str], text: str) -> float:
    try:
        found: Any = json.loads(output)
        for key in keys:
            found = found[int(key)] if isinstance(found, list) else found[key]
        return float(found)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise WanlabError(f"{text} is not to be had: {error!r}") from None


def _known(value: float | None, text: str) -> float:
    if value is None:
        raise WanlabError(f"{text} was not measured")
    return float(value)
