"""Test the words of tc without a machine."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from wanlab import shapes
from wanlab.agent.shaping import change_delay_line
from wanlab.plan import plan_script
from wanlab.plan.change import change
from wanlab.plan.shaping import percent
from wanlab.topology.model import Conditions, Port


def test_a_percentage_keeps_the_ten_digits_that_netem_can_tell_apart() -> None:
    assert percent(0.123456789012) == "12.3456789%"
    assert percent(1 / 3) == "33.33333333%"
    assert percent(2**-32) == "2.328306437e-08%"


@pytest.mark.parametrize("option", ["avpkt 0", "min ²", "max " + "9" * 5000])
def test_an_odd_parameter_of_red_is_left_to_tc(option: str) -> None:
    """It ended the plan with a traceback."""
    word, _, value = option.partition(" ")
    queue = {"kind": "red", "limit": "250KB", "options": [option]}
    assert f"{word} {value}" in plan_script(shapes.single(2, rate="10Mbps", queue=queue))


@pytest.mark.parametrize(("gap", "netlink_gap"), [(0, 1), (5, 5)])
def test_a_gap_of_reordering_is_told_to_tc_and_kept_by_schedules(
    gap: int, netlink_gap: int
) -> None:
    words = {"delay": "10ms", "reorder": "25%", "reorder_gap": gap}
    script = plan_script(shapes.single(2, **words))  # type: ignore[arg-type]
    assert ("reorder 25% gap 5" in script) == (gap == 5)
    before = Conditions(delay_ns=10**7, reorder_fraction=0.25, reorder_gap=gap)
    operation = change("h1", Port("h1", name="h1-eth0"), before, replace(before, delay_ns=1))
    assert operation.delay_line is not None
    _, _, request = change_delay_line(3, **operation.delay_line)
    netem = request.index(b"netem\0") + 8 + 4  # behind the header of the options
    assert struct.unpack_from("=IIIIII", request, netem)[3] == netlink_gap
