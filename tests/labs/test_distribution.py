"""Test runs of a unit with many seeds: quantiles, and the place of the manual's number."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from wanlab.errors import WanlabError
from wanlab.labs.agreement import manual_range
from wanlab.labs.distribution import (
    NumberDistribution,
    UnitDistribution,
    distributions,
    read_all,
    text,
)
from wanlab.labs.report import UnitReport


def figure(ours: float | None, *, what: str = "rate", least: float | None = 9) -> dict[str, Any]:
    return {
        "what": what,
        "manual": "9.5",
        "ours": ours,
        "unit": "Mbit/s",
        "manual_range": (9.5, 9.5),
        "at_least": least,
        "at_most": 10.0,
    }


def report(*figures: dict[str, Any]) -> UnitReport:
    steps = [{"n": 7, "figures": list(figures)}]
    return cast(UnitReport, {"steps": steps, "solution": []})


def of_unit(*numbers: NumberDistribution, seeds: int) -> UnitDistribution:
    return UnitDistribution("18", tuple(range(seeds)), {}, "0.2.0", "6.12.9", numbers)


def test_each_number_has_its_median_and_its_central_range() -> None:
    values = [9 + seed / 40 for seed in range(41)]  # 9.0 to 10.0
    (number,) = distributions([report(figure(value)) for value in values])
    assert number.median == pytest.approx(9.5)
    assert number.central == pytest.approx((9.025, 9.975))
    assert (number.share_in_band, number.verdict) == (1.0, "inside")
    assert number.values == tuple(values)


def test_with_fewer_than_40_seeds_the_range_is_that_of_all_values() -> None:
    samples = [report(figure(float(value))) for value in range(40)]
    (few,), (many,) = distributions(samples[:39]), distributions(samples)
    assert few.central == (0.0, 38.0)
    assert many.central == pytest.approx((0.975, 38.025))
    assert " range " in text(of_unit(few, seeds=39), "Lab 18").splitlines()[2]
    assert " central 95 % " in text(of_unit(many, seeds=40), "Lab 18").splitlines()[2]


def test_one_value_in_80_is_in_the_range_but_not_in_the_central_part() -> None:
    reports = [report(figure(20.0)) for _ in range(79)] + [report(figure(9.4))]
    (number,) = distributions(reports)
    assert number.share_in_band == 1 / 80
    assert number.central == (20.0, 20.0)
    assert number.range == (9.4, 20.0)
    said = text(of_unit(number, seeds=80), "Lab 18")
    assert "1 numbers: 0 are the same with every seed;" in said
    assert "for 1 of the others, and not in it for 0" in said


def test_a_band_without_an_end_reaches_to_infinity() -> None:
    (number,) = distributions([report(figure(value, least=None)) for value in (-5.0, -4.0)])
    assert number.share_in_band == 1.0


def test_texts_and_missing_numbers_are_left_out() -> None:
    reports = [
        report(figure(1.0, what='says "net"'), figure(9.5)),
        report(figure(1.0, what='says "net"'), figure(None)),
        report(figure(1.0, what='says "net"'), figure(9.7)),
    ]
    (number,) = distributions(reports)
    assert number.values == (9.5, 9.7)
    assert number.as_json()["median"] == 9.6


@pytest.mark.parametrize(
    ("manual", "values", "verdict", "place"),
    [
        ("9.5", (9.4, 9.4), "constant", 1.0),
        ("about 9.5", (9.0, 9.4, 9.5, 9.6, 20.0), "inside", 0.5),
        ("9.5", (9.6, 9.7, 9.8), "outside", 0.0),
        ("9.5 (icmp_seq 3, 6 are missing)", (9.4, 9.6), "inside", 0.5),
        ("not given", (9.6, 9.7, 9.8), "", None),
        ("9 to 10", (9.9, 11.0), "inside", None),
    ],
)
def test_the_manuals_number_has_a_place_among_the_seeds(
    manual: str, values: tuple[float, ...], verdict: str, place: float | None
) -> None:
    words = {"manual": manual, "manual_range": manual_range(manual)}
    (number,) = distributions([report(figure(value) | words) for value in values])
    assert (number.verdict, number.place_of_manual) == (verdict, place)


def test_distributions_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    numbers = distributions([report(figure(value)) for value in (9.5, 9.7, 11.0)])
    many, few = of_unit(*numbers, seeds=3), of_unit(*numbers, seeds=2)
    (tmp_path / "lab18-seed1-to-3.json").write_text(many.to_json())
    (tmp_path / "lab18-seed1-to-2.json").write_text(few.to_json())
    assert read_all(tmp_path) == {"18": many}
    (tmp_path / "lab18-seed1-to-9.json").write_text("{}")
    with pytest.raises(WanlabError, match="has no distributions"):
        read_all(tmp_path)
