"""RRUL by Flent itself: which programs it needs, and how its results are read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from wanlab import Run, experiment
from wanlab.machine import guest_environment
from wanlab.standard_tests import flent

VERSION = "#!/bin/sh\necho Netperf version 2.7.1\n"
WITHOUT_DEMO = "#!/bin/sh\necho Sorry, Demo Mode not configured into this netperf.\n" + VERSION


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on the path, with programs of the names that Flent needs."""
    monkeypatch.setitem(guest_environment.ENVIRONMENT, "PATH", str(tmp_path))
    for name in flent.PROGRAMS:
        (tmp_path / name).write_text(VERSION)
        (tmp_path / name).chmod(0o755)
    flent.is_installed.cache_clear()
    return tmp_path


def test_flent_is_used_if_all_programs_are_installed(programs: Path) -> None:
    assert flent.is_installed()


@pytest.mark.parametrize("name", flent.PROGRAMS)
def test_flent_is_not_used_without_one_of_its_programs(programs: Path, name: str) -> None:
    (programs / name).unlink()
    assert not flent.is_installed()


def test_flent_is_not_used_with_a_netperf_that_reports_only_at_the_end(programs: Path) -> None:
    (programs / "netperf").write_text(WITHOUT_DEMO)
    assert not flent.is_installed()


@experiment
def rrul(
    run: Run,
    *,
    rate: str = "10Mbps",
    delay: str = "25ms",
    queue: str = "fq_codel",
    buffer: str = "",
    seconds: int = 3,
) -> None:
    flent.rrul_be(run, seconds=seconds)


def test_pings_and_throughput_are_read_from_flents_data(tmp_path: Path) -> None:
    data = {
        "raw_values": {
            "Ping (ms) ICMP": [  # the reply 1 was lost
                {"seq": 0.0, "t": 1767225610.31, "val": 50.0},
                {"seq": 2.0, "t": 1767225610.71, "val": 50.5},
            ]
        },
        "metadata": {
            "SERIES_META": {
                "Ping (ms) ICMP": {"MEAN_VALUE": 55.0},
                "TCP upload BE": {"MEAN_VALUE": 2.0},
                "TCP upload BE2": {"MEAN_VALUE": 3.0},
                "TCP upload sum": {"MEAN_VALUE": 5.0},
                "TCP download BE": {"MEAN_VALUE": 4.0},
                "TCP download avg": {"MEAN_VALUE": 4.0},
            }
        },
    }
    file = tmp_path / "x.flent.gz"
    file.write_bytes(gzip.compress(json.dumps(data).encode()))
    results = flent.read_data(file)
    assert results.goodputs_mbps == {"up": [2.0, 3.0], "down": [4.0]}
    assert list(results.pings["time_ns"]) == [0, 400_000_000]
    assert list(results.pings["sequence"]) == [1, 3]
    assert list(results.pings["rtt_ms"]) == [50.0, 50.5]


@pytest.mark.machine
@pytest.mark.long
@pytest.mark.skipif(not flent.is_installed(), reason="needs flent, fping, irtt, netperf")
def test_flent_performs_rrul_in_a_network() -> None:
    result = rrul.run(cache=False, here=True)
    assert result["ping_alone"] == 50.0
    assert 50.0 <= result["ping_median"] < 55.0
    assert result["ping_loss"] == 0.0
    for name in ("download", "upload"):
        assert 7 < result[name] < 10
