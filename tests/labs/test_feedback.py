"""Test what the checks say to a student whose network is in an unusual state."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Network, load
from wanlab.labs import grade, new_unit, unit_file
from wanlab.labs.outcome import band_text
from wanlab.labs.unit import Band

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
