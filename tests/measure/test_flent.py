"""Data files of Flent become tables, whatever their name and version."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from wanlab.errors import WanlabError
from wanlab.measure import flent
from wanlab.plot import quantities
from wanlab.record import Provenance, Record

FILE: dict[str, Any] = {
    "version": 4,
    "x_values": [0.0, 0.2, 0.4],
    "results": {
        "TCP upload": [None, 9.5, 9.6],
        "Ping (ms) ICMP": [25.0, 26.5, None],
        "qdisc backlog": [1, 2, 3],
    },
    "raw_values": {},
    "metadata": {
        "TITLE": "a test",
        "FLENT_VERSION": "2.1.1",
        "SERIES_META": {
            "TCP upload": {"UNITS": "Mbits/s", "MEAN_VALUE": 9.55},
            "Ping (ms) ICMP": {"UNITS": "ms"},
            "qdisc backlog": {"UNITS": "bytes"},
        },
    },
}


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_series_become_tables_with_their_units(pack: Any) -> None:
    content = pack(json.dumps(FILE).encode())
    assert flent.is_flent(content)
    data = flent.parse(content)
    assert (data.title, data.version) == ("a test", "2.1.1")
    throughput, pings = data.tables["flent_throughput"], data.tables["flent_ping"]
    assert list(throughput["time_ns"]) == [200_000_000, 400_000_000]
    assert list(throughput["bits_per_second"]) == [9_500_000, 9_600_000]
    assert list(pings["rtt_ms"]) == [25.0, 26.5]


def test_files_before_version_4_have_units_in_the_names() -> None:
    old = {"x_values": [0.0], "results": {"TCP download::1": [1.0], "Ping (ms) avg": [2.0]}}
    data = flent.parse(json.dumps(old).encode())
    assert list(data.tables["flent_throughput"]["series"]) == ["TCP download::1"]
    assert list(data.tables["flent_ping"]["rtt_ms"]) == [2.0]


def test_a_figure_has_a_line_for_each_series() -> None:
    data = flent.parse(json.dumps(FILE).encode())
    record = Record(Provenance(wanlab="1"), data.tables, {})
    assert quantities.available(record) == ["throughput", "rtt"]
    panels = quantities.panels({"": record})
    assert [[line.label for line in panel.lines] for panel in panels] == [
        ["TCP upload"],
        ["Ping (ms) ICMP"],
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"\x1f\x8bnot gzip",
        gzip.compress(b"{}"),
        gzip.compress(b'{"x_values": [1], "results": {"a": [1]}}'),
        b'{"x_values": 3}',
        gzip.compress(json.dumps(FILE).encode())[:40],
    ],
    ids=["not gzip", "empty", "without units", "a number", "cut off"],  # gzip has the time in it
)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(WanlabError, match="Flent"):
        flent.parse(content)
