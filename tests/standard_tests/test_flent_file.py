"""Runs become data files with the names, units and times that Flent expects."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from wanlab.experiments import Result
from wanlab.measure import flent
from wanlab.record import Provenance, Record, Table, write
from wanlab.standard_tests.catalog import find
from wanlab.standard_tests.experiment import flows_of
from wanlab.standard_tests.flent_file import flent_test

STEPS = 55
"""1 s of load between twice 5 s, in steps of 0.2 s."""


def result(folder: Path, test: str, *, flows: int = 2, pairs: int = 1) -> Result:
    """Return a run in which each flow carries 1, 2, ... Mbit/s, and the second ping is lost."""
    wanted = find(test).with_flows(flows)
    ends = [(f"h{n}", f"h{pairs + n}") for n in range(1, pairs + 1)]
    load = flows_of(wanted, ends)
    tables = {"load": Table.of({}), "ping": _pings([1, 3], [20.0, 20.5])}
    if wanted.is_marked:
        tables["ping_bk"] = _pings([1, 2, 3], [30.0, 30.0, 30.5])
    raw = {}
    if load:
        names = ("name", "sender", "receiver", "port", "code_point")
        tables["load"] = Table.of({name: [getattr(flow, name) for flow in load] for name in names})
        tables["tcp"] = _received([(flow.receiver, flow.port) for flow in load])
        for number, flow in enumerate(load, 1):
            report = {"kind": "bulk", "host": "h2", "seed": 1, "congestion": None, "seconds": 1.0}
            report |= {"bytes": 1, "goodput_bps": number * 1e6, "flows": []}
            raw[f"{flow.name.replace(' ', '-')}.json"] = json.dumps(report).encode()
    write(Record(Provenance(wanlab="1"), tables, raw), folder / "record")
    parameters: dict[str, str | int] = {"test": test, "flows": flows, "seconds": 1}
    parameters |= {"client": "", "server": ""}
    return Result(folder, "standard_test", parameters, 1, "key", {}, ())


def _pings(sequence: list[int], rtts_ms: list[float]) -> Table:
    times = [(number - 1) * 200_000_000 for number in sequence]
    return Table.of({"time_ns": times, "sequence": sequence, "rtt_ms": rtts_ms})


def _received(ends: list[tuple[str, int]]) -> Table:
    """Flow n receives n times 25 kB in each 0.2 s of its second."""
    rows = [
        (step * 200_000_000, node, port, f"{node}:{port}", min(max(step - 25, 0), 5) * number)
        for number, (node, port) in enumerate(ends, 1)
        for step in range(STEPS + 1)
    ]
    times, nodes, ports, flows, counts = zip(*rows, strict=True)
    return Table.of(
        {
            "time_ns": list(times),
            "node": list(nodes),
            "local_port": list(ports),
            "flow": list(flows),
            "data_segs_in_packets": list(counts),
            "bytes_received": [25_000 * count for count in counts],
        }
    )


def data_of(folder: Path, test: str, **options: int) -> dict[str, Any]:
    written = flent.dumps(flent_test(result(folder, test, **options), "a title"))
    data: dict[str, Any] = json.loads(gzip.decompress(written))
    return data


def test_a_file_has_what_flent_reads(tmp_path: Path) -> None:
    data = data_of(tmp_path, "tcp_upload")
    assert data["version"] == 4
    assert data["x_values"][:4] == [0.0, 0.2, 0.4, 0.6]
    assert all(len(values) == STEPS for values in data["results"].values())
    rates = data["results"]["TCP upload"]
    assert rates[26:31] == pytest.approx([1.0] * 5)
    assert [*rates[:26], *rates[31:]] == [None] * (STEPS - 5)
    assert data["results"]["Ping (ms) ICMP"][:4] == [20.0, None, 20.5, None]
    assert data["raw_values"]["Ping (ms) ICMP"][1] == {
        "seq": 3,
        "t": 1_767_225_610.4,
        "val": 20.5,
    }
    metadata = data["metadata"]
    assert (metadata["NAME"], metadata["TITLE"]) == ("tcp_upload", "a title")
    assert (metadata["LOCAL_HOST"], metadata["HOST"]) == ("h1", "h2")
    assert metadata["T0"] == metadata["TIME"] == "2026-01-01T00:00:10.000000Z"
    assert (metadata["LENGTH"], metadata["TOTAL_LENGTH"], metadata["STEP_SIZE"]) == (1, 11, 0.2)
    assert metadata["SERIES_META"] == {
        "TCP upload": {"MEAN_VALUE": 1.0, "RUNNER": "wanlab-traffic", "UNITS": "Mbits/s"},
        "Ping (ms) ICMP": {"MEAN_VALUE": 20.25, "RUNNER": "ping", "UNITS": "ms"},
    }


@pytest.mark.parametrize(
    ("test", "name", "parameters", "series"),
    [
        ("ping", "ping", {}, ["Ping (ms) ICMP"]),
        ("tcp_bidir", "tcp_bidirectional", {}, ["TCP upload", "TCP download", "Ping (ms) ICMP"]),
        (
            "tcp_nup",
            "tcp_nup",
            {"upload_streams": "2"},
            ["TCP upload::1", "TCP upload::2", "TCP upload avg", "TCP upload sum"],
        ),
        (
            "tcp_3down",
            "tcp_ndown",
            {"download_streams": "3"},
            ["TCP download::1", "TCP download::2", "TCP download::3"],
        ),
        ("rrul", "rrul", {}, ["TCP upload BE", "TCP upload BK", "TCP totals", "Ping (ms) avg"]),
        ("rrul_be", "rrul_be", {}, ["TCP upload BE", "TCP upload BE2", "TCP download BE2"]),
    ],
)
def test_tests_and_series_have_flents_names(
    tmp_path: Path, test: str, name: str, parameters: dict[str, str], series: list[str]
) -> None:
    data = data_of(tmp_path, test)
    assert data["metadata"]["NAME"] == name
    assert data["metadata"]["TEST_PARAMETERS"] == parameters
    assert set(series) <= set(data["results"])


def test_each_host_of_rtt_fair_has_its_series(tmp_path: Path) -> None:
    data = data_of(tmp_path, "rtt_fair", pairs=4)
    assert data["metadata"]["HOSTS"] == ["h5", "h6", "h7", "h8"]
    assert {"TCP upload BE1 h5", "TCP download BE4 h8", "Ping (ms) ICMP1 h5"} <= set(
        data["results"]
    )


def test_sums_means_and_fairness_are_those_of_the_flows(tmp_path: Path) -> None:
    results = data_of(tmp_path, "rrul_be")["results"]  # upload 1 and 2, download 3 and 4 Mbit/s
    at = 28
    assert results["TCP upload sum"][at] == pytest.approx(3)
    assert results["TCP download avg"][at] == pytest.approx(3.5)
    assert results["TCP totals"][at] == pytest.approx(10)
    assert results["TCP upload fairness"][at] == pytest.approx(9 / 10)
    assert results["TCP upload sum"][0] is None


def test_the_average_ping_leaves_lost_ones_out(tmp_path: Path) -> None:
    results = data_of(tmp_path, "rrul")["results"]
    assert results["Ping (ms) avg"][:4] == [25.0, 30.0, 25.5, None]


def test_our_own_reader_reads_it(tmp_path: Path) -> None:
    test = flent_test(result(tmp_path, "tcp_bidir"), "a title")
    data = flent.parse(flent.dumps(test))
    assert data.title == "a title"
    throughput = data.tables["flent_throughput"]
    rates = list(throughput.where(series="TCP download")["bits_per_second"])
    assert rates == pytest.approx([2e6] * 5)
    assert list(data.tables["flent_ping"]["time_ns"]) == [0, 400_000_000]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    test = flent_test(result(tmp_path, "rrul"), "a title")
    assert flent.dumps(test) == flent.dumps(test)
