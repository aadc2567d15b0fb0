"""Findings, their bands and the table that shows them."""

from __future__ import annotations

from typing import Any

import pytest

from wanlab.labs import table
from wanlab.labs.lab import Finding, readable


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2589040.0, "2,589,040"),
        (26214400, "26,214,400"),
        (957.3456, "957.3"),
        (1234.56, "1,235"),
        (32.669, "32.67"),
        (20, "20"),
        (0, "0"),
        (0.04, "0.04"),
        (4.8765, "4.877"),
    ],
)
def test_numbers_are_for_people(number: float, text: str) -> None:
    assert readable(number) == text


@pytest.mark.parametrize(
    ("least", "most", "band"),
    [
        (2555890, 2621440, "2,555,890 to 2,621,440"),
        (900, None, "900 or more"),
        (None, 0.5, "0.5 or less"),
        (0, 0, "0"),
        (None, None, "any"),
    ],
)
def test_a_band_is_told_in_words(least: float | None, most: float | None, band: str) -> None:
    assert Finding("x", "", 1, "", least, most).band == band


@pytest.mark.parametrize(
    ("ours", "is_reproduced"), [(899.9, False), (900, True), (1000, True), (1000.1, False)]
)
def test_the_ends_of_a_band_belong_to_it(ours: float, is_reproduced: bool) -> None:
    assert Finding("x", "", ours, "", 900, 1000).is_reproduced is is_reproduced


def finding(what: str, reproduced: bool = True, why: str = "") -> dict[str, Any]:
    return {
        "what": what,
        "manual": "2.5e6",
        "ours_text": "26,162,018",
        "unit": "B",
        "band": "26,148,850 to 26,214,400",
        "reproduced": reproduced,
        "why": why,
    }


def report(*findings: dict[str, Any], warnings: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "lab": 14,
        "title": "Bufferbloat",
        "findings": findings,
        "reproduced": sum(found["reproduced"] for found in findings),
        "warnings": warnings,
    }


def test_the_table_in_full() -> None:
    text = table.text(
        report(
            finding("1 BDP, queue peak"),
            finding("10 BDP, queue peak", False, "the queue did not fill"),
            warnings=("3 packets were dropped",),
        )
    )
    assert text == (
        "Lab 14: Bufferbloat\n"
        "\n"
        "what                manual          ours  band\n"
        "------------------  ------  ------------  ------------------------  --\n"
        "1 BDP, queue peak    2.5e6  26,162,018 B  26,148,850 to 26,214,400  ok\n"
        "10 BDP, queue peak   2.5e6  26,162,018 B  26,148,850 to 26,214,400  NO\n"
        "\n"
        "10 BDP, queue peak differs: the queue did not fill\n"
        "warning: 3 packets were dropped\n"
        "1 of 2 reproduced\n"
    )


def test_a_long_name_goes_on_below_and_nothing_is_cut() -> None:
    name = "a very long name of something that was measured"
    lines = table.text(report(finding(name))).splitlines()[2:-2]
    assert max(map(len, lines)) <= 80
    _, _, first, *rest = lines
    words = [*first[: first.index("  ")].split(), *" ".join(rest).split()]
    assert words == name.split()
