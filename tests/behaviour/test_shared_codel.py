"""Why CUBIC collapses beside BBR in CoDel's queue (Lab 18): BBR keeps two BDPs in flight."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wanlab import Network, load
from wanlab.labs import catalog
from wanlab.labs.lab_network import network_of

pytestmark = [pytest.mark.machine, pytest.mark.long]

UNIT = catalog.find("18")
CODEL = 40
"""The step that attaches CoDel."""
SETS = re.compile(r"(sudo )?(tc qdisc|sysctl -w) ")
PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "fidelity.md"
ROW = re.compile(r"^\| (no limit|[\d.]+ MiB) \| (\d+) Mbit/s \| (\d+) Mbit/s \|$", re.MULTILINE)


def rows() -> list[tuple[str, ...]]:
    section = PAGE.read_text(encoding="utf-8").split("### CUBIC and BBR in one CoDel (Lab 18)")[1]
    return ROW.findall(section.split("\n### ")[0])


def shares_mbps(network: Network, limit: str) -> tuple[float, ...]:
    """Return what CUBIC and BBR receive if BBR's send buffer has this maximum."""
    for step in UNIT.steps[:CODEL]:
        for line in filter(SETS.match, step.lines):
            node = network.root if step.where == ("client",) else network[step.where[0]]
            node.run(line, check=True)
    if limit.endswith("MiB"):
        size = round(float(limit.removesuffix(" MiB")) * 1024**2)
        network["h2"].run(f"sysctl -w net.ipv4.tcp_wmem='10240 87380 {size}'", check=True)
    for server in ("h3", "h4"):
        network[server].start("iperf3 -s")
    network.run_for("500ms")
    flows = [
        network["h1"].start("iperf3 -c 10.0.0.3 -t 60 -J"),
        network["h2"].start("iperf3 -c 10.0.0.4 -t 60 -J"),
    ]
    reports = [json.loads(flow.finish("600s").output) for flow in flows]
    return tuple(report["end"]["sum_received"]["bits_per_second"] / 1e6 for report in reports)


def test_the_table_has_the_whole_buffer_and_smaller_ones() -> None:
    assert [limit for limit, *_ in rows()] == [
        "no limit",
        "4 MiB",
        "3 MiB",
        "2.5 MiB",
        "2 MiB",
        "1.5 MiB",
    ]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_bbrs_window_decides_the_shares(tmp_path: Path, row: tuple[str, ...]) -> None:
    limit, *expected = row
    with network_of(UNIT, load(UNIT.topology), tmp_path, seed=1, clock="virtual") as network:
        assert shares_mbps(network, limit) == pytest.approx(tuple(map(float, expected)), rel=0.05)
