"""Test tables as text."""

import pytest

from wanlab.text_table import aligned, markdown


def test_columns_are_aligned_and_lines_do_not_end_with_spaces() -> None:
    rows = [("flow", "Mbit/s", "via"), ("h1", "9.55", ""), ("h2", "10.2", "s1")]
    assert aligned(rows, "<><") == ["flow  Mbit/s  via", "h1      9.55", "h2      10.2  s1"]


def test_a_table_without_rows_has_no_lines() -> None:
    assert aligned([], "<>") == []


def test_a_row_with_too_many_cells_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        aligned([("a", "b"), ("a", "b", "c")], "<<")


def test_a_table_in_markdown() -> None:
    lines = list(markdown(("flow", "Mbit/s"), [("h1", "9.55")]))
    assert lines == ["| flow | Mbit/s |", "|---|---|", "| h1 | 9.55 |"]
