"""On the real clock, a missed number that depends on the computer is not a failure; others are."""

from __future__ import annotations

import pytest

from wanlab.labs.outcome import Outcome
from wanlab.labs.report import EXPLAINED, OPEN, REPRODUCED
from wanlab.labs.unit import Band, Expectation, Step
from wanlab.measure.metrics import StepOutput

PING = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.

--- 10.0.0.2 ping statistics ---
3 packets transmitted, 2 received, 33% packet loss, time 2003ms
rtt min/avg/max/mdev = 1.0/2.0/3.0/0.5 ms
"""


@pytest.mark.parametrize(
    ("clock", "metric", "most", "status"),
    [
        ("virtual", "ping.max_ms", 2.5, OPEN),
        ("real", "ping.max_ms", 2.5, EXPLAINED),
        ("real", "ping.max_ms", 3.5, REPRODUCED),
        ("real", "ping.received", 1, OPEN),
        ("real", "jain", 1, OPEN),
    ],
)
def test_a_missed_band_is_a_failure_unless_the_computer_explains_it(
    clock: str, metric: str, most: float, status: str
) -> None:
    expected = Expectation("it", metric, "3", band=Band(at_most=most), why="set before")
    outcome = Outcome(Step(1, "", ("h1",), expect=(expected,)), clock=clock)
    outcome.compare(StepOutput(PING), {})
    assert [figure.status for figure in outcome.figures] == [status]
