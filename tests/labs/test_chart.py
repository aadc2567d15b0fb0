"""Test the text chart that plot_q.sh prints."""

import pytest

from wanlab.labs.scripts.chart import draw, peaks, readable


def test_bars_grow_by_eighths_and_small_values_are_visible() -> None:
    assert draw([0, 1, 40, 80, 160], seconds=4, width=40, height=2) == [
        "     160 B|    █",
        "         0| ▁▄██",
        "           0 s 4.0 s",
    ]


def test_an_empty_queue_has_no_bars() -> None:
    assert draw([0, 0], seconds=1, width=40, height=2)[:2] == ["       0 B|", "         0|"]


def test_all_samples_are_visible_with_their_peaks() -> None:
    assert peaks([0, 9, 1, 2, 3, 4, 5], 3) == [9, 4, 5]
    assert peaks([1, 2], 3) == [1, 2]
    assert peaks([], 3) == []
    lines = draw([0] * 500 + [7] + [0] * 499, seconds=100, width=80, height=4)
    assert max(map(len, lines)) <= 80
    assert lines[0].count("█") == 1


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0 B"), (999, "999 B"), (2_621_440, "2.62 MB"), (5e12, "5e+03 GB")]
)
def test_sizes_have_three_digits(value: float, said: str) -> None:
    assert readable(value, "B") == said
