"""Test how the manual's number and ours agree: the kind follows from the numbers, not from the band."""

from __future__ import annotations

import pytest

from wanlab.labs.agreement import (
    CONTRADICTS,
    HOLDS,
    SAME,
    UNKNOWN,
    WITHIN,
    manual_range,
    ratio,
    rule,
    status,
)
from wanlab.labs.unit import Band, Expectation

WIDE = Band(1, 10_000)
CAUSE = "CPU takes no time."


def number(manual: str, band: Band = WIDE, **more: object) -> Expectation:
    return Expectation("it", "ping.max_ms", manual, band=band, why="set before", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("9.5", (9.5, 9.5)),
        ("about 9,500", (9500, 9500)),
        ("near 1e6 (in the figure)", (1e6, 1e6)),
        (".83588", (0.83588, 0.83588)),
        ("25 to 40", (25, 40)),
        ("is drawn", None),
        ("", None),
        ("slightly below 10", None),
    ],
)
def test_the_manuals_number_is_read_from_its_text(
    text: str, numbers: tuple[float, float] | None
) -> None:
    assert manual_range(text) == numbers
    assert manual_range(text, (1, 2)) == (1, 2)


@pytest.mark.parametrize(("ours", "kind"), [(80, WITHIN), (100, WITHIN), (79.9, SAME), (134, SAME)])
def test_a_number_is_within_if_it_is_at_most_a_quarter_of_ours_away(ours: float, kind: str) -> None:
    assert status(number("100", cause=CAUSE), ours) == kind


def test_a_wide_band_does_not_make_a_number_within() -> None:
    assert status(number("100"), 881) == UNKNOWN
    assert status(number("100", cause=CAUSE), 881) == SAME


def test_a_number_outside_its_band_contradicts_if_its_cause_is_known() -> None:
    band = Band(400, 600)
    assert status(number("500", band, cause=CAUSE), 601) == CONTRADICTS
    assert status(number("500", band), 601) == UNKNOWN


def test_a_number_that_other_commands_give_is_not_within() -> None:
    assert (
        status(number("100", changed="The manual's command does not limit the rate."), 100) == SAME
    )


def test_a_number_in_the_range_over_the_seeds_is_within() -> None:
    expected = number("66", seeds=(48, 103))
    assert (status(expected, 92), rule(expected, 92)) == (WITHIN, "in the range over our seeds")
    assert status(number("40", seeds=(48, 103)), 92) == UNKNOWN


def test_times_near_zero_are_equal_and_other_numbers_near_zero_are_not() -> None:
    near = number("0.044", Band(0, 0.1), unit="ms")
    assert (status(near, 0), rule(near, 0)) == (WITHIN, "both are at most 0.1 ms")
    assert status(number("0.2", Band(0, 0.3), unit="ms"), 0) == UNKNOWN
    assert status(number("0.044", Band(0, 0.1), unit="Mbit/s"), 0) == UNKNOWN


def test_where_the_manual_has_no_number_ours_holds_if_it_is_in_its_band() -> None:
    assert status(number("not given"), 5) == HOLDS
    assert status(number("not given"), 0.5) == UNKNOWN


def test_a_ratio_is_that_to_the_nearest_of_the_manuals_numbers() -> None:
    assert ratio((100, 100), 250) == 2.5
    assert ratio((25, 40), 30) == 1
    assert ratio((25, 40), 50) == 1.25
    assert ratio((0, 0), 5) is None
    assert ratio(None, 5) is None
    assert ratio((0, 0), 0) == 1
