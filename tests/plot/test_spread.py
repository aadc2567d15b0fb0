"""Test means and their confidence intervals."""

import math

import pytest

from wanlab.plot.spread import format_interval, interval


def test_the_interval_is_that_of_students_distribution() -> None:
    mean, half = interval([9.0, 11.0])
    assert (mean, round(half, 2)) == (10.0, 12.71)
    assert interval([9.0])[0] == 9.0
    assert math.isnan(interval([9.0])[1])


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (28.996, math.nan, "29.00"),
        (29.3, math.nan, "29.30"),
        (20.0, math.nan, "20"),
        (1234.56, math.nan, "1235"),
        (10.0, 12.71, "10 ± 13"),
        (math.nan, math.nan, "-"),
    ],
)
def test_means_of_a_column_have_the_same_number_of_digits(
    mean: float, half: float, text: str
) -> None:
    assert format_interval(mean, half) == text
