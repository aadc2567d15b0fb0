"""A unit with many seeds: quantiles, and where the manual's number lies."""

from __future__ import annotations

from typing import Any, cast

import pytest

from wanlab.labs.distribution import distributions, text
from wanlab.labs.report import UnitReport


def figure(ours: float | None, *, what: str = "rate", least: float | None = 9) -> dict[str, Any]:
    return {
        "what": what,
        "manual": "9.5",
        "ours": ours,
        "unit": "Mbit/s",
        "at_least": least,
        "at_most": 10.0,
    }


def report(*figures: dict[str, Any]) -> UnitReport:
    steps = [{"n": 7, "figures": list(figures)}]
    return cast(UnitReport, {"steps": steps, "solution": []})


def test_each_number_has_its_median_and_its_central_range() -> None:
    values = [9 + seed / 40 for seed in range(41)]  # 9.0 to 10.0
    (number,) = distributions([report(figure(value)) for value in values])
    assert number.median == pytest.approx(9.5)
    assert number.central == pytest.approx((9.025, 9.975))
    assert (number.share_in_band, number.includes_manual) == (1.0, True)
    assert number.values == tuple(values)


def test_a_band_that_only_a_tail_reaches_does_not_include_the_manual() -> None:
    reports = [report(figure(20.0)) for _ in range(79)] + [report(figure(9.5))]
    (number,) = distributions(reports)
    assert number.share_in_band == 1 / 80
    assert number.central == (20.0, 20.0)
    assert not number.includes_manual
    said = text([number], "Lab 18", 80)
    assert "the manual's band meets the central 95 % of the seeds for 0 of 1 numbers" in said
    assert "1 of them differ from seed to seed" in said
    assert "step 7, rate: all but the tails are above the manual's band" in said


def test_a_band_without_an_end_reaches_to_infinity() -> None:
    (number,) = distributions([report(figure(value, least=None)) for value in (-5.0, -4.0)])
    assert (number.share_in_band, number.includes_manual) == (1.0, True)


def test_texts_and_numbers_that_were_not_taken_are_left_out() -> None:
    reports = [
        report(figure(1.0, what='says "net"'), figure(9.5)),
        report(figure(1.0, what='says "net"'), figure(None)),
        report(figure(1.0, what='says "net"'), figure(9.7)),
    ]
    (number,) = distributions(reports)
    assert number.values == (9.5, 9.7)
    assert number.as_json()["median"] == 9.6
