"""How far time passes before we look at our own side again."""

from __future__ import annotations

from wanlab.cli.strides import LONG_NS, SHORT_NS, Strides


def test_idle_time_is_passed_in_longer_and_longer_strides() -> None:
    strides = Strides(always_short=False)
    lengths = []
    for _ in range(20):
        lengths.append(strides.length_ns)
        strides.tell(False)
    assert lengths[:3] == [SHORT_NS, 2 * SHORT_NS, 4 * SHORT_NS]
    assert lengths[-1] == LONG_NS
    strides.tell(True)
    assert strides.length_ns == SHORT_NS


def test_once_somebody_is_at_work_the_very_next_stride_is_short() -> None:
    strides = Strides(always_short=False)
    for _ in range(20):
        strides.tell(False)
    strides.always_short = True
    assert strides.length_ns == SHORT_NS
