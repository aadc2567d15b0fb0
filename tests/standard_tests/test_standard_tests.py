"""Test `wanlab test` on the embedded machine: numbers, figures, and other topologies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wanlab import Design, shapes
from wanlab.errors import WanlabError
from wanlab.experiments import Result, read_results
from wanlab.measure import flent
from wanlab.standard_tests import figures, flent_file, summary
from wanlab.standard_tests.curves import panels
from wanlab.standard_tests.experiment import flows_in, standard_test
from wanlab.topology import dumps

pytestmark = [pytest.mark.machine, pytest.mark.long]
RATE_MBPS = 10


def perform(folder: Path, **parameters: str | int) -> Result:
    results = standard_test.sweep(
        Design.listed([{"seconds": 3, **parameters}]),
        output=folder / "results",
        cache=False,
        jobs=1,
    )
    assert results.failures == ()
    return results.results[0]


@pytest.fixture(scope="module")
def rrul(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return perform(tmp_path_factory.mktemp("rrul"), test="rrul", queue="fq_codel")


def test_rrul_fills_both_directions_and_keeps_the_ping_short(rrul: Result) -> None:
    for name in ("download", "upload"):
        assert 0.8 * RATE_MBPS < rrul[name] < RATE_MBPS
        assert rrul.metrics[name].most == RATE_MBPS
    assert rrul["ping_alone"] == 20.0  # 10 ms each way, to the precision that ping prints
    assert 20.0 <= rrul["ping_median"] < 30.0
    assert {"ping_bk_p99", "ping_ef_median", "fairness"} <= set(rrul.metrics)


def test_throughput_over_time_never_exceeds_the_link(rrul: Result) -> None:
    download, upload, pings = panels(rrul.record, flows_in(rrul.record))
    for panel in (download, upload):
        assert [line.label for line in panel.lines] == ["BE", "BK", "CS5", "EF", "total"]
        total = panel.lines[-1].values
        assert 0.8 * RATE_MBPS < total.max() <= RATE_MBPS
        assert np.allclose(sum(line.values for line in panel.lines[:-1]), total)
    assert [line.label for line in pings.lines] == ["ping", "ping BK", "ping EF"]


def test_a_test_runs_over_any_topology(tmp_path: Path) -> None:
    topology = shapes.linear(2, rate="5Mbps", delay="2ms")
    result = perform(tmp_path, test="tcp_upload", topology=dumps(topology, "x.mn"))
    assert 4 < result["upload"] < 5
    assert result["ping_alone"] == 12.0  # three links there and back
    with pytest.raises(WanlabError, match=r'no host "h9" .did you mean|no host "h9" .choose from'):
        standard_test.run(test="ping", client="h9", cache=False, here=True)


def test_results_become_a_table_and_two_figures(rrul: Result, tmp_path: Path) -> None:
    results = read_results(rrul.folder.parents[1])
    text = summary.text(results)
    assert text.startswith("rrul: 4 flows up, 4 down")
    assert "10Mbps, 10ms each way, fq_codel; 3 s of load; 1 seed" in text
    assert "Ping EF under load, 95th percentile" in text
    drawn = figures.draw(results, tmp_path / "rrul", ".svg")
    assert [path.name for path in drawn] == ["rrul.svg", "rrul-cdf.svg"]
    assert all(path.read_bytes().startswith(b"<?xml") for path in drawn)


def test_flent_gets_what_the_figures_show(rrul: Result, tmp_path: Path) -> None:
    (path,) = flent_file.write(read_results(rrul.folder.parents[1]), tmp_path)
    assert path.name == "rrul.flent.gz"
    written = flent.parse(path.read_bytes())
    assert written.title == f"seed {rrul.seed}"
    pings = written.tables["flent_ping"]
    for table, name in (("ping", "Ping (ms) ICMP"), ("ping_ef", "Ping (ms) ICMP EF")):
        assert list(pings.where(series=name)["rtt_ms"]) == list(rrul.record[table]["rtt_ms"])
        assert list(pings.where(series=name)["time_ns"]) == list(rrul.record[table]["time_ns"])
    throughput = written.tables["flent_throughput"]
    shown = panels(rrul.record, flows_in(rrul.record))[0].lines[-1]
    total = throughput.where(series="TCP download sum")
    is_loaded = (shown.times_s > 5.1) & (shown.times_s < 8.1)  # 3 s of load
    assert len(total) == 15
    assert np.allclose(np.asarray(total["bits_per_second"]) / 1e6, shown.values[is_loaded])
    assert set(throughput.distinct("series")) >= {"TCP upload BE", "TCP upload EF", "TCP totals"}
