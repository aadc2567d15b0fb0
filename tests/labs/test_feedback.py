"""Test what the checks say to a student whose network is in an unusual state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wanlab import Network, load
from wanlab.labs import grade, new_unit, unit_file
from wanlab.labs.outcome import band_text
from wanlab.labs.unit import Band, Check, CheckFlow

STUDENTS_TEST_S = 5


def test_nothing_is_a_band_of_zero() -> None:
    assert band_text(Band(None, 0), "%") == "0"
    assert band_text(Band(None, 0.5), "%") == "0.5 % or less"


@pytest.mark.machine
def test_a_check_beside_a_test_of_the_student_fails_with_the_reason(tmp_path: Path) -> None:
    """It does not wait until the student's server is free."""
    new_unit.write("slow-link", tmp_path)
    unit = unit_file.read(tmp_path / "slow-link")
    with Network(load(unit.topology)) as net:
        net["h2"].start("iperf3 -s")
        net.run_for("10ms")
        net["h1"].start(f"iperf3 -c h2 -t {STUDENTS_TEST_S} -b 1M")
        net.run_for("100ms")
        mark, *_ = grade.grade(unit, net)
        assert "the server is busy running a test" in mark.reason
        assert net.now_ns < STUDENTS_TEST_S * 1e9


@pytest.mark.machine
def test_a_ping_is_not_called_quick_beside_a_flow_that_sent_nothing(tmp_path: Path) -> None:
    new_unit.write("slow-link", tmp_path)
    unit = unit_file.read(tmp_path / "slow-link")
    flow = CheckFlow("h2", "h1", "iperf3 -c h2 -t 1 -b 5M -J")
    ping = CheckFlow("h2", "h1", "ping -c 2 h2")
    quick = Check("quick", 1, "look", metric="ping.mean_ms", band=Band(0, 1000), flows=(flow, ping))
    with Network(load(unit.topology)) as net:
        (alone,) = grade.grade(replace(unit, check=(quick,)), net)
        assert alone.is_passed
        assert net.warnings == []
        net["h2"].start("iperf3 -s")
        net.run_for("10ms")
        net["h1"].start(f"iperf3 -c h2 -t {STUDENTS_TEST_S} -b 1M")
        net.run_for("100ms")
        (mark,) = grade.grade(replace(unit, check=(quick,)), net)
    assert not mark.is_passed
    assert mark.reason.startswith("the flow from h1 to h2 failed: ")
