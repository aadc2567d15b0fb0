"""How long steps are said to take is how long they take."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from wanlab.labs import catalog
from wanlab.labs.durations import seconds_in, step_seconds
from wanlab.labs.series import expected_s
from wanlab.labs.unit import Step, Unit

COURSE = Path(__file__).parents[2] / "docs" / "evidence" / "course.md"
NOT_IN_COMMANDS_S = 20
"""What commands do not tell: servers that are waited for, ends of pings, losses."""


def step_with(unit: Unit, line: str) -> Step:
    return next(step for step in unit.steps if line in step.lines)


def test_a_number_of_bytes_takes_as_long_as_in_the_lab() -> None:
    unit = catalog.find("2")
    step = step_with(unit, "iperf3 -c 10.0.0.2 -n 16G")
    measured = next(one.band for one in step.expect if one.what == "duration")
    assert measured.holds(step_seconds(unit, step, unit.steps))


def test_a_number_of_bytes_is_sent_at_the_line_rate() -> None:
    slow, unlimited = (replace(catalog.find("2"), line_rate=rate) for rate in ("100Mbps", "0"))
    assert seconds_in("iperf3 -c h2 -n 1448000K", slow) == pytest.approx(1538 * 8 * 1024 / 1e5)
    assert seconds_in("iperf3 -c h2 -n 16G", unlimited) == 0


@pytest.mark.parametrize(
    ("unit", "script", "seconds"),
    [
        ("10", "concurrent_same_algo", 122),
        ("10", "concurrent_diff_algo", 22),
        ("12", "concurrent_no_pacing", 22),
        ("12", "concurrent_pacing", 22),
    ],
)
def test_a_script_takes_as_long_as_its_longest_flow(unit: str, script: str, seconds: int) -> None:
    assert seconds_in(f"source {script}", catalog.find(unit)) == seconds


def test_a_script_in_the_folder_of_a_unit_is_read(tmp_path: Path) -> None:
    (tmp_path / "two").write_text("h1 iperf3 -c h2 -t 7\nh1 ping -c 3 h2 &\nh2 ping -c 5 h1 &\n")
    unit = replace(catalog.find("1"), folder=tmp_path)
    assert seconds_in("source two", unit) == 12
    assert seconds_in("source three", unit) == 0


def test_lines_that_wait_for_enter_take_their_time_after_it() -> None:
    unit = catalog.find("17")
    waiting = [step for step in unit.steps if step.waits_for_enter]
    enter = next(step for step in unit.steps if step.enter)
    assert [step_seconds(unit, step, unit.steps) for step in waiting] == [0] * 4
    assert step_seconds(unit, enter, unit.steps) == 60


@pytest.mark.parametrize("name", list(catalog.names()))
def test_a_unit_takes_as_long_as_on_the_page_of_the_course(name: str) -> None:
    unit = catalog.find(name)
    row = re.search(
        rf"^\| {re.escape(unit.heading)} \| .* (\d+) \|$", COURSE.read_text(), re.MULTILINE
    )
    assert row
    assert expected_s(unit) == pytest.approx(float(row[1]), abs=NOT_IN_COMMANDS_S)
