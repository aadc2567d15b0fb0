"""Test which of a port's qdiscs count as its queue."""

from typing import Any

import pytest

from wanlab.measure.port_queue import port_queue
from wanlab.netlink.qdisc import QdiscCounters


def qdisc(kind: str, handle: str, parent: str, backlog: int, **more: Any) -> QdiscCounters:
    counters = {
        **{"bytes": 0, "packets": 0, "drops": 0, "overlimits": 0, "requeues": 0, "marks": 0},
        **{"backlog_bytes": backlog, "backlog_packets": backlog // 1000},
    }
    return QdiscCounters(
        device="s1-eth2",
        kind=kind,
        handle=handle,
        parent=parent,
        **{**counters, **more},
    )


@pytest.mark.parametrize(
    ("qdiscs", "backlog_bytes"),
    [
        # As in the course: a delay line with the shaper below it.
        ([("netem", "1:", "root", 5000), ("tbf", "2:", "1:", 3000)], 3000),
        # A shaper with an AQM below it.
        ([("tbf", "1:", "root", 3000), ("codel", "2:", "1:", 2900)], 3000),
        (
            [
                ("netem", "1:", "root", 5000),
                ("tbf", "2:", "1:", 3000),
                ("codel", "3:", "2:1", 2900),
            ],
            3000,
        ),
        # A delay line below the shaper.
        ([("tbf", "1:", "root", 5000), ("netem", "2:", "1:1", 4000)], 1000),
        ([("netem", "1:", "root", 5000)], 0),
        # Classes.
        (
            [
                ("htb", "1:", "root", 700),
                ("pfifo", "10:", "1:10", 300),
                ("red", "20:", "1:20", 400),
            ],
            700,
        ),
        ([("pfifo_fast", "0:", "root", 70)], 70),
        ([("noqueue", "0:", "root", 0)], 0),
        ([], 0),
    ],
)
def test_the_queue_consists_of_shapers_and_aqms(
    qdiscs: list[tuple[str, str, str, int]], backlog_bytes: int
) -> None:
    found = port_queue([qdisc(*each) for each in qdiscs])
    assert (found.backlog_bytes, found.backlog_packets) == (backlog_bytes, backlog_bytes // 1000)


def test_random_losses_of_the_delay_line_are_no_drops_of_the_queue() -> None:
    found = port_queue(
        [
            qdisc("netem", "1:", "root", 0, drops=120),  # 20 of these drops are the shaper's
            qdisc("tbf", "2:", "1:", 0, drops=20),
        ]
    )
    assert found.drops == 20


def test_the_qdiscs_of_the_queue_are_named() -> None:
    found = port_queue(
        [
            qdisc("netem", "1:", "root", 0),
            qdisc("tbf", "2:", "1:", 0),
            qdisc("red", "3:", "2:", 0, marks=4),
        ]
    )
    assert (found.kinds, found.delays, found.marks) == (("tbf", "red"), True, 4)
    nothing = port_queue([qdisc("noqueue", "0:", "root", 0)])
    assert (nothing.kinds, nothing.delays) == ((), False)
