"""Test which kinds of values each kind of field accepts."""

from __future__ import annotations

import pytest

from wanlab.errors import Problem
from wanlab.fields import Fields, Problems


def refusal(kind: str, value: object) -> list[Problem]:
    """Read a value as a field of this kind; return the problems, after checking that None came."""
    problems = Problems()
    assert getattr(Fields({"x": value}, "", problems), kind)("x") is None
    return list(problems)


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("value", [True, False])
def test_true_and_false_are_no_numbers(kind: str, value: bool) -> None:
    noun = {"integer": "a whole number", "number": "a number"}[kind]
    assert refusal(kind, value) == [Problem("x", f"{str(value).lower()} is not {noun}")]


@pytest.mark.parametrize("value", [0, 1, 1.0, "true"])
def test_only_true_and_false_are_flags(value: object) -> None:
    (problem,) = refusal("flag", value)
    assert problem.what.endswith("is not true or false")


def test_a_text_must_be_a_string_and_an_empty_one_is_missing() -> None:
    assert refusal("text", 5) == [Problem("x", "5 is not a string")]
    assert refusal("text", "") == refusal("text", None) == []
