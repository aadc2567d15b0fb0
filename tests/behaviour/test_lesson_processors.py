"""Lab 15's section about processors: an unshaped path carries what packets cost, as its table shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Network, load
from wanlab.labs import catalog
from wanlab.labs.lab_network import network_of
from wanlab.machine.defaults import MachineChoice
from wanlab.topology.cpu import read_cpu

pytestmark = pytest.mark.machine

UNIT = catalog.find("15")
MODEL = "server-2019"
COSTS = dict(read_cpu(MODEL).costs)  # type: ignore[union-attr]
PACKET_NS = COSTS["rx_packet_ns"] + COSTS["rx_stack_ns"]
HEADERS = 52
"""Bytes of IP and TCP headers, with timestamps."""
ROW = re.compile(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
SUPER_PACKET = 64_000


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    folder = tmp_path_factory.mktemp("lab15")
    choice = MachineChoice(cpu=MODEL)
    net = network_of(UNIT, load(UNIT.topology), folder, seed=1, clock="virtual", choice=choice)
    with net:
        net["h2"].start("iperf3 -s")
        net.run_for("10ms")
        yield net


def rows() -> list[tuple[str, ...]]:
    lesson = (Path(UNIT.folder) / "lesson.md").read_text(encoding="utf-8")
    return ROW.findall(lesson.split("### 6 ")[1])


def measured(net: Network, mtu: int, tso: str, expected: float) -> float:
    """Return what the receiver got, in Gbit/s, in a test of about 0.2 s."""
    net["h1"].run(f"ifconfig h1-eth0 mtu {mtu}", check=True)
    net["h1"].run(f"ethtool -K h1-eth0 tso {tso}", check=True)
    command = f"iperf3 -c 10.0.0.2 -n {round(expected * 0.2e9 / 8)} -J"
    report = json.loads(net["h1"].run(command, check=True).output)
    return float(report["end"]["sum_received"]["bits_per_second"]) / 1e9


def test_the_table_has_a_row_for_each_size() -> None:
    assert [int(mtu) for mtu, *_ in rows()] == [576, 1000, 1500]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_without_tso_a_core_receives_a_packet_in_620_ns(
    network: Network, row: tuple[str, ...]
) -> None:
    mtu, prediction, without, _ = (float(cell) for cell in row)
    expected = (mtu - HEADERS) * 8 / PACKET_NS
    assert prediction == pytest.approx(expected, rel=0.005)
    goodput = measured(network, int(mtu), "off", expected)
    assert goodput == pytest.approx(without, rel=0.02)
    # With small packets, the core of the port also sends acknowledgements.
    least = 0.88 if mtu < 1000 else 0.98
    assert least * expected < goodput < 1.02 * expected


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_with_tso_only_the_driver_handles_each_segment(
    network: Network, row: tuple[str, ...]
) -> None:
    mtu, *_, with_tso = (float(cell) for cell in row)
    segments = SUPER_PACKET // (mtu - HEADERS)
    of_packet_ns = segments * COSTS["rx_packet_ns"] + COSTS["rx_stack_ns"]
    of_copy_ns = SUPER_PACKET * COSTS["copy_ps_per_byte"] / 1000
    limit = SUPER_PACKET * 8 / max(of_packet_ns, of_copy_ns)
    goodput = measured(network, int(mtu), "on", limit)
    assert 0.85 * limit < goodput < 1.02 * limit
    assert goodput == pytest.approx(with_tso, rel=0.06)


def test_an_idle_path_has_a_round_trip_time(network: Network) -> None:
    output = network["h1"].run("ping -c 3 -i 0.2 10.0.0.2", check=True).output
    minimum = re.search(r"= ([\d.]+)/", output)
    assert minimum
    assert float(minimum[1]) == pytest.approx(0.055, abs=0.01)
