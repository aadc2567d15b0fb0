"""Test the numbers of branches beside each other."""

from __future__ import annotations

from wanlab.web.protocol.commands import SeriesKind
from wanlab.web.protocol.messages import SampleColumn
from wanlab.web.timeline.branch_numbers import numbers
from wanlab.web.timeline.curve_memory import CurveMemory


def memory(*columns: tuple[SeriesKind, str, str, tuple[float | None, ...]]) -> CurveMemory:
    """Return a memory of curves with a sample every second from second 1 on."""
    made = CurveMemory()
    for kind, port, flow, values in columns:
        times = tuple(float(row + 1) for row in range(len(values)))
        made.add(SampleColumn(kind, port, flow, "B", times, values))
    return made


def test_means_highest_values_and_drops_are_of_the_same_time() -> None:
    one = memory(
        ("queue", "s1-eth2", "", (0, 100, 200, 900)), ("drops", "s1-eth2", "", (3, 3, 7, 9))
    )
    two = memory(("queue", "s1-eth2", "", (0, 10, 20, 30)), ("drops", "s1-eth2", "", (3, 3, 3, 3)))
    queue, drops = numbers([one, two], 1, 3)
    assert (queue.kind, queue.means, queue.highest) == ("queue", (150, 15), (200, 20))
    assert (drops.kind, drops.means, drops.highest) == ("drops", (None, None), (4, 0))


def test_a_flow_is_found_again_though_its_sender_has_another_port() -> None:
    first, again = "10.0.0.1:40000 > 10.0.0.2:5201", "10.0.0.1:40002 > 10.0.0.2:5201"
    one = memory(("rtt", "h1-eth0", first, (0.02, None, 0.04)))
    two = memory(("rtt", "h1-eth0", again, (0.01, 0.01, 0.01)))
    (rtt,) = numbers([one, two], 0, 3)
    assert (rtt.flow, rtt.highest) == (first, (0.04, 0.01))


def test_what_only_one_branch_has_is_listed_and_what_is_next_to_nothing_is_not() -> None:
    one = memory(("throughput", "a", "", (1e6,)), ("throughput", "b", "", (10.0,)))
    two = memory(("throughput", "c", "", (5e5,)))
    found = numbers([one, two], 0, 1)
    assert [(it.port, it.highest) for it in found] == [("a", (1e6, None)), ("c", (None, 5e5))]
