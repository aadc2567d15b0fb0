"""Test means and their confidence intervals."""

import math

import numpy as np
import pytest

from wanlab.plot.spread import Scale, format_interval, heat, interval


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


def test_a_cell_of_a_heat_map_is_the_mean_of_its_runs() -> None:
    x, y = (Scale(name, (0.0,), ("0",), True) for name in "xy")
    figure = heat([[[1.0, 2.0, 6.0]]], x, y, label="goodput")
    (image,) = figure.axes[0].get_images()
    assert np.asarray(image.get_array()).tolist() == [[3.0]]
