"""Checks distinguish right from wrong work: some cases of `./dev bench course`."""

from __future__ import annotations

from typing import Any

import pytest

from wanlab.labs import catalog, check_selftest, unit_run

QUICK = (
    "ex1: start",
    "ex1: solution",
    "ex1: wrong/one-switch",
    "ex2: wrong/change-without-the-delay",
    "prob1: start, variant 3",
    "11: start",
    "20: start",
)
CASES = {
    case.name: case for name in catalog.names() for case in check_selftest.cases(catalog.find(name))
}


def graded(*, passed: bool, hint: str = "", problems: tuple[str, ...] = ()) -> dict[str, Any]:
    check = {
        "what": "rate",
        "passed": passed,
        "points": float(passed),
        "value_text": "3",
        "reason": "",
        "hint": hint,
    }
    return {
        "points": float(passed),
        "of": 1.0,
        "passed": passed,
        "checks": [check],
        "problems": list(problems),
    }


def test_each_variant_has_its_start_and_its_solution() -> None:
    for name in ("prob1", "prob3"):
        count = len(catalog.find(name).variants)
        assert count >= 3
        for variant in range(1, count + 1):
            own = [
                case for case in check_selftest.cases(catalog.find(name)) if case.seed == variant
            ]
            assert {check_selftest.START, check_selftest.SOLUTION} <= {case.kind for case in own}
    assert sum(case.kind == check_selftest.WRONG for case in CASES.values()) >= 10


@pytest.mark.parametrize(
    ("name", "report", "is_right"),
    [
        ("ex1: start", graded(passed=False), True),
        ("ex1: start", graded(passed=True), False),
        ("ex1: start", graded(passed=False, problems=("set_env.sh: exit status 1",)), False),
        ("ex1: solution", graded(passed=True), True),
        ("ex1: solution", graded(passed=False), False),
        (
            "ex1: wrong/one-switch",
            graded(passed=False, hint="no host is connected to s2; ..."),
            True,
        ),
        ("ex1: wrong/one-switch", graded(passed=False, hint="look at something else"), False),
        ("ex1: wrong/one-switch", graded(passed=True), False),
    ],
)
def test_a_case_passes_only_with_the_expected_result(
    monkeypatch: pytest.MonkeyPatch, name: str, report: dict[str, Any], is_right: bool
) -> None:
    monkeypatch.setattr(unit_run, "grade_work", lambda *_, **__: report)
    assert check_selftest.run_case(CASES[name]).is_right is is_right


@pytest.mark.machine
@pytest.mark.costs(4)
@pytest.mark.parametrize(
    "name", [*QUICK, pytest.param("prob1: solution-3, variant 3", marks=pytest.mark.long)]
)
def test_a_case_of_the_course_has_the_expected_result(name: str) -> None:
    verdict = check_selftest.run_case(CASES[name])
    assert verdict.reasons == ()
    assert verdict.of > 0


@pytest.mark.machine
@pytest.mark.long
@pytest.mark.parametrize(
    ("unit", "seed"),
    # Those of Problem 3 draw the smallest difference between the paths; in Exercise 7, the flows
    # share equally from the start.
    [("prob3", 4), ("prob3", 12), ("prob3", 24), ("ex7", 1)],
)
def test_an_untouched_network_earns_nothing(unit: str, seed: int) -> None:
    case = check_selftest.Case(catalog.find(unit), check_selftest.START, None, seed)
    verdict = check_selftest.run_case(case)
    assert verdict.reasons == ()
    assert verdict.points == 0
