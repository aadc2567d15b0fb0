"""Write the run of a test as a data file that Flent opens, draws, and compares with its own.

Series have the names of Flent's tests. Throughput is that of the figures (see `curves`), while there is
load. Pings are all ICMP, also those that are marked, which Flent would send over UDP. Calls, datagrams
and pages have no series.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from wanlab import Record
from wanlab.experiments import Result, Results
from wanlab.measure import flent, traffic
from wanlab.measure.fairness import jain
from wanlab.measure.flent import INDEX_UNIT, RATE_UNIT, TIME_UNIT, FlentSeries, FlentTest
from wanlab.record import Table

from .catalog import StandardTest, find
from .curves import INTERVAL_S, PINGS, throughputs
from .experiment import ALONE_S, PING_INTERVAL_NS, LoadFlow, flows_in

BEGAN_NS = 1_767_225_610 * 10**9
"""2026-01-01 00:00:10, when the clock of a network on virtual time is 0."""
NAMES = {
    "tcp_bidir": "tcp_bidirectional",
    "voip": "tcp_bidirectional",
    "web": "tcp_ndown",
    "rtt_fair": "rtt_fair4be",
}
"""The names of tests that Flent has under another name, or that resemble one of Flent's."""
TITLES = {"up": "TCP upload", "down": "TCP download"}
Values = Sequence[float | None]


def write(results: Results, folder: Path) -> list[Path]:
    """Write a data file for each run; return their paths. The name has what varies, if anything does."""
    seeds = {result.seed for result in results}
    paths = []
    for result in results:
        varied = [f"{name}={result.parameters[name]}" for name in results.varied]
        title = ", ".join([*varied, f"seed {result.seed}"])
        parts = [*varied, *([f"seed{result.seed}"] if len(seeds) > 1 else [])]
        text = "-".join([str(result.parameters["test"]), *parts])
        path = folder / (re.sub(r"[^A-Za-z0-9._=+-]", "_", text) + ".flent.gz")
        path.write_bytes(flent.dumps(flent_test(result, title)))
        paths.append(path)
    return paths


def flent_test(result: Result, title: str) -> FlentTest:
    """Return the run of a test as a test of Flent."""
    test = find(str(result.parameters["test"])).with_flows(int(result.parameters["flows"]))
    flows, seconds = flows_in(result.record), int(result.parameters["seconds"])
    steps = (seconds + 2 * ALONE_S) * 10**9 // PING_INTERVAL_NS
    names = _flow_names(test, flows)
    series: dict[str, FlentSeries] = {}
    for way, word in TITLES.items():
        of_way = {name: flow for name, flow in names.items() if flow.name.startswith(way)}
        measured = dict(_throughput_series(result.record, of_way, steps, seconds))
        series |= measured | dict(_summaries(word, measured))
    if test.up > 1 and test.down > 1:
        parts = [series[name].values for name in names]
        series["TCP totals"] = _computed(RATE_UNIT, "sum", parts, sum)
    host = str(result.parameters["server"]) or (_far_end(flows[0]) if flows else "server")
    pings = dict(_ping_series(result.record, test, host, steps))
    series |= pings
    if len(pings) > 1 or test.pairs > 1:
        parts = [each.values for each in pings.values()]
        series["Ping (ms) avg"] = _computed(TIME_UNIT, "average", parts, _mean)
    return FlentTest(
        name=_name(test),
        title=title,
        local_host=str(result.parameters["client"]) or (_near_end(flows[0]) if flows else "client"),
        hosts=tuple(dict.fromkeys(map(_far_end, flows))) or (host,),
        began_ns=BEGAN_NS,
        length_s=seconds,
        total_length_s=seconds + 2 * ALONE_S,
        step_s=INTERVAL_S,
        times_s=[_time_s(step) for step in range(steps)],
        series=series,
        parameters=_parameters(test),
    )


def _name(test: StandardTest) -> str:
    if test.name in NAMES or test.name in ("tcp_upload", "tcp_download"):
        return NAMES.get(test.name, test.name)
    if test.name.startswith("tcp_"):
        return "tcp_nup" if test.up else "tcp_ndown"
    return test.name


def _parameters(test: StandardTest) -> dict[str, str]:
    counts = {"tcp_nup": ("upload_streams", test.up), "tcp_ndown": ("download_streams", test.down)}
    if _name(test) not in counts:
        return {}
    word, number = counts[_name(test)]
    return {word: str(number)}


def _near_end(flow: LoadFlow) -> str:
    return flow.sender if flow.name.startswith("up") else flow.receiver


def _far_end(flow: LoadFlow) -> str:
    return flow.receiver if flow.name.startswith("up") else flow.sender


def _time_s(step: int) -> float:
    return step * PING_INTERVAL_NS / 1e9


# -- flows ------------------------------------------------------------------------------------------


def _flow_names(test: StandardTest, flows: Sequence[LoadFlow]) -> dict[str, LoadFlow]:
    """Return the flows by the names that their series have in Flent."""
    names: dict[str, LoadFlow] = {}
    for flow in flows:
        way, _, label = flow.name.partition(" ")
        if test.pairs > 1:
            name = f"{TITLES[way]} BE{label} {_far_end(flow)}"
        elif test.is_marked or (test.up > 1 and test.down > 1):
            mark = label if test.is_marked else "BE"
            numbered = (f"{TITLES[way]} {mark}{number}" for number in count(2))
            name = f"{TITLES[way]} {mark}"
            while name in names:
                name = next(numbered)
        else:
            name = f"{TITLES[way]}::{label}" if label else TITLES[way]
        names[name] = flow
    return names


def _throughput_series(
    record: Record, flows: Mapping[str, LoadFlow], steps: int, seconds: int
) -> Iterator[tuple[str, FlentSeries]]:
    lines = throughputs(record, list(flows.values()))
    for (name, flow), line in zip(flows.items(), lines, strict=False):  # the last may be the total
        values: list[float | None] = [None] * steps
        samples = []
        for step in range(1, min(steps, len(line.values) + 1)):
            if ALONE_S < _time_s(step) <= ALONE_S + seconds:
                rate_mbps = float(line.values[step - 1])
                values[step] = rate_mbps
                samples.append({"t": _time_s(step), "dur": INTERVAL_S, "val": rate_mbps})
        results = traffic.parse(record.raw[f"{flow.name.replace(' ', '-')}.json"])
        assert isinstance(results, traffic.FlowResults)
        yield (
            name,
            FlentSeries(
                unit=RATE_UNIT,
                values=values,
                runner="wanlab-traffic",
                samples=samples,
                mean=results.goodput_bps / 1e6,
            ),
        )


def _summaries(word: str, measured: Mapping[str, FlentSeries]) -> Iterator[tuple[str, FlentSeries]]:
    """Yield mean, sum and fairness of several flows, as Flent computes them."""
    parts = [series.values for series in measured.values()]
    if len(parts) > 1:
        yield f"{word} avg", _computed(RATE_UNIT, "average", parts, _mean)
        yield f"{word} sum", _computed(RATE_UNIT, "sum", parts, sum)
        yield f"{word} fairness", _computed(INDEX_UNIT, "fairness", parts, jain)


def _computed(
    unit: str, runner: str, parts: Sequence[Values], function: Callable[[list[float]], float]
) -> FlentSeries:
    """Return the series of a function of the values that there are at each time."""
    values: list[float | None] = []
    for row in zip(*parts, strict=True):
        present = [value for value in row if value is not None]
        is_usable = bool(present) and (unit != INDEX_UNIT or any(present))
        values.append(float(function(present)) if is_usable else None)
    return FlentSeries(unit=unit, values=values, runner=runner)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


# -- pings ------------------------------------------------------------------------------------------


def _ping_series(
    record: Record, test: StandardTest, host: str, steps: int
) -> Iterator[tuple[str, FlentSeries]]:
    for table in (name for name in PINGS if name in record):
        mark = PINGS[table].removeprefix("ping").upper()
        name = f"Ping (ms) ICMP1 {host}" if test.pairs > 1 else f"Ping (ms) ICMP{mark}"
        yield name, _ping(record[table], steps)


def _ping(table: Table, steps: int) -> FlentSeries:
    values: list[float | None] = [None] * steps
    samples = []
    numbers, rtts_ms = (np.asarray(table[name]) for name in ("sequence", "rtt_ms"))
    for number, rtt_ms in zip(numbers.tolist(), rtts_ms.tolist(), strict=True):
        if number <= steps:
            values[number - 1] = rtt_ms
        samples.append({"t": _time_s(number - 1), "seq": number, "val": rtt_ms})
    mean = _mean(rtts_ms.tolist()) if len(rtts_ms) else None
    return FlentSeries(unit=TIME_UNIT, values=values, runner="ping", samples=samples, mean=mean)
