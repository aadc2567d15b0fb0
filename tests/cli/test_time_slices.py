"""Test how long the machine runs before our own streams are polled again."""

from __future__ import annotations

from wanlab.cli.time_slices import MAX_NS, SHORT_NS, TimeSlices


def test_idle_time_passes_in_longer_and_longer_slices() -> None:
    time_slices = TimeSlices(always_short=False)
    lengths = []
    for _ in range(20):
        lengths.append(time_slices.length_ns)
        time_slices.update(False)
    assert lengths[:3] == [SHORT_NS, 2 * SHORT_NS, 4 * SHORT_NS]
    assert lengths[-1] == MAX_NS
    time_slices.update(True)
    assert time_slices.length_ns == SHORT_NS


def test_the_next_time_slice_is_short_after_activity() -> None:
    time_slices = TimeSlices(always_short=False)
    for _ in range(20):
        time_slices.update(False)
    time_slices.always_short = True
    assert time_slices.length_ns == SHORT_NS


def test_a_short_slice_may_be_longer_where_time_passes_faster() -> None:
    time_slices = TimeSlices(always_short=True)
    time_slices.short_ns = 60 * SHORT_NS
    for _ in range(20):
        time_slices.update(False)
    assert time_slices.length_ns == 60 * SHORT_NS
    assert (time_slices.is_idle, time_slices.is_long) == (False, False)
