"""Test the table of many units: sums, skipped steps, each number beside the manual's."""

from __future__ import annotations

from typing import Any, cast

from wanlab.labs import course_page, summary
from wanlab.labs.agreement import STATUSES
from wanlab.labs.distribution import NumberDistribution, UnitDistribution
from wanlab.labs.report import UnitReport


def figure(status: str, what: str = "rate", cause: str = "") -> dict[str, Any]:
    return {
        "what": what,
        "manual": "9|5",
        "ours": 1.0,
        "ours_text": "9.4 Mbit/s",
        "manual_range": (9.5, 9.5),
        "ratio": 0.989,
        "seeds": None,
        "band": "9 to 10",
        "at_least": 9.0,
        "at_most": 10.0,
        "in_band": status in ("within", "same behaviour", "holds"),
        "status": status,
        "cause": cause,
        "why": "",
    }


def step(n: int, *figures: dict[str, Any], skipped: str = "") -> dict[str, Any]:
    return {"n": n, "skipped": skipped, "problems": [], "figures": list(figures)}


def report(heading: str, *steps: dict[str, Any]) -> UnitReport:
    figures = [one for own in steps for one in own["figures"]]
    parts = {
        "heading": heading,
        "seed": 7,
        "performed": sum(not own["skipped"] for own in steps),
        "steps_count": len(steps),
        "counts": {s: sum(one["status"] == s for one in figures) for s in STATUSES},
        "check": {
            "points": 2,
            "of": 3,
            "passed": False,
            "checks": [{"passed": True}, {"passed": False}],
        },
        "virtual_s": 30.0,
        "steps": list(steps),
        "solution": [],
    }
    return cast(UnitReport, parts)


SIX = report(
    "Lab 6: One",
    step(1, figure("within")),
    step(2, figure("contradicts", "queue", "It starts at once."), skipped="printed twice"),
    step(3, figure("cause unknown", 'says "net"', "it does not occur")),
    step(
        4, figure("holds", 'says "links"'), figure("same behaviour", "delay", "It starts at once.")
    ),
)
ROWS = [
    summary.row_of("6", 1, SIX, "", "lab06-seed1"),
    summary.row_of("7", 2, None, "there is no machine", "lab07-seed1"),
]


def test_rows_are_summed_and_one_without_a_report_has_its_error() -> None:
    whole = summary.totals(ROWS)
    assert (whole["performed"], whole["steps"]) == (3, 4)
    assert (whole["checks_passed"], whole["checks"]) == (1, 2)
    assert [*whole["kinds"].values()] == [1, 1, 1, 1, 1]
    lines = summary.text(ROWS).splitlines()
    assert lines[0].split()[0] == "unit"
    assert lines[1].endswith("  1 outside its band; a check fails")
    assert lines[2].endswith("  there is no machine")
    assert lines[-1].split()[0] == "total"


def test_the_page_on_the_course_lists_numbers_reasons_and_skipped_steps() -> None:
    text = course_page.page(ROWS, {"6": SIX}, "Said.", {}, {"6": "It is typical."})
    assert "Conditions: Said." in " ".join(text.split())
    assert "3 of 4 steps were performed" in text
    words = " ".join(text.split())
    assert "The manual prints 4 numbers that wanlab can be compared with:" in words
    assert "* *same behaviour* (1): another number, for a stated cause." in words
    assert "In 1 more places" in words
    assert "* Lab 6: One, step 2: printed twice" in text
    assert "| 1 | rate | 9\\|5 | 9.4 Mbit/s | 0.99 |  | within |  |" in text
    assert "| 2 | queue | 9\\|5 | 9.4 Mbit/s | 0.99 |  | contradicts | 1 |" in text
    assert "| 4 | delay | 9\\|5 | 9.4 Mbit/s | 0.99 |  | same behaviour | 1 |" in text
    assert "\n1. It starts at once.\n" in text
    assert "### Lab 6: One\n\nSeed 7: It is typical.\n" in text
    assert "With many seeds" not in text
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert max(map(len, prose)) <= 100


def drawn(step: int, what: str, *values: float) -> NumberDistribution:
    manual = (9.5, 9.5)
    return NumberDistribution("steps", step, 0, what, "9.5", "Mbit/s", manual, 9.0, 10.0, values)


def test_the_page_on_the_course_compares_the_manual_with_many_seeds() -> None:
    numbers = (drawn(1, "rate", 9.4, 9.8), drawn(2, "queue", 20.0, 30.0))
    known = UnitDistribution("6", (1, 2, 3), {"3": "it was killed"}, "0.2.0", "6.12.9", numbers)
    six = report(
        "Lab 6: One",
        step(1, figure("within") | {"manual": "9.5"}),
        step(2, figure("contradicts", "queue", "it starts at once") | {"manual": "about 9.5"}),
    )
    text = course_page.page(ROWS, {"6": six}, "Said.", {"6": known}, {})
    assert "| Lab 6: One | 2 | 6.12.9 | 2 | 0 | 1 | 1 |" in text
    assert "| 9.4 to 9.8 (2) | within |" in text
    assert "| 20 to 30 (2) | contradicts |" in text


def test_the_html_page_links_to_the_reports() -> None:
    page = summary.page(ROWS, "The course")
    assert '<a href="lab06-seed1/report.html">Lab 6: One</a>' in page
    assert "there is no machine" in page
