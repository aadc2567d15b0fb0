"""Many units in one table: sums, what is skipped, every number beside the manual's."""

from __future__ import annotations

from typing import Any, cast

from wanlab.labs import summary
from wanlab.labs.report import STATUSES, UnitReport


def figure(status: str, what: str = "rate", why: str = "") -> dict[str, Any]:
    return {
        "what": what,
        "manual": "9|5",
        "ours": 1.0,
        "ours_text": "9.4 Mbit/s",
        "band": "9 to 10",
        "status": status,
        "why": why,
    }


def step(n: int, *figures: dict[str, Any], skipped: str = "") -> dict[str, Any]:
    return {"n": n, "skipped": skipped, "problems": [], "figures": list(figures)}


def report(heading: str, *steps: dict[str, Any]) -> UnitReport:
    figures = [one for own in steps for one in own["figures"]]
    parts = {
        "heading": heading,
        "performed": sum(not own["skipped"] for own in steps),
        "steps_count": len(steps),
        "counts": {s: sum(one["status"] == s for one in figures) for s in STATUSES},
        "check": {
            "points": 2,
            "of": 3,
            "passed": False,
            "checks": [{"passed": True}, {"passed": False}],
        },
        "real_s": 2.0,
        "virtual_s": 30.0,
        "folder": "results/lab06-seed1",
        "steps": list(steps),
        "solution": [],
    }
    return cast(UnitReport, parts)


SIX = report(
    "Lab 6: One",
    step(1, figure("reproduced")),
    step(2, figure("explained", "queue", "it starts at once"), skipped="printed twice"),
    step(3, figure("open", 'says "net"', "it does not occur")),
    step(4, figure("reproduced", 'says "links"')),
)
ROWS = [
    summary.row_of("6", 1, SIX, ""),
    summary.row_of("7", 2, None, "there is no machine"),
]


def test_rows_are_summed_and_one_without_a_report_has_its_error() -> None:
    whole = summary.totals(ROWS)
    assert (whole["performed"], whole["steps"]) == (3, 4)
    assert (whole["checks_passed"], whole["checks"]) == (1, 2)
    assert [whole["reproduced"], whole["explained"], whole["open"]] == [2, 1, 1]
    lines = summary.text(ROWS).splitlines()
    assert lines[0].split()[0] == "unit"
    assert lines[1].endswith("  1 open; a check is missed")
    assert lines[2].endswith("  there is no machine")
    assert lines[-1].split()[0] == "total"


def test_the_page_on_the_course_tells_numbers_reasons_and_what_was_skipped() -> None:
    text = summary.markdown(ROWS, {"6": SIX}, "Said.")
    assert "3 of 4 steps were performed" in text
    assert "75.0 % reproduced or explained" in text
    assert "* Lab 6: One, step 2: printed twice" in text
    assert "| 1 | rate | 9\\|5 | 9.4 Mbit/s | 9 to 10 | reproduced |" in text
    assert "queue (step 2): it starts at once" in text
    assert 'says "net"' in text
    assert 'says "links"' not in text


def test_html_leads_to_the_reports() -> None:
    page = summary.page(ROWS, "The course")
    assert '<a href="lab06-seed1/report.html">Lab 6: One</a>' in page
    assert "there is no machine" in page
