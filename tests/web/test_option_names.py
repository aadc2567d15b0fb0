"""Test the names of options in messages."""

from __future__ import annotations

import pytest

from wanlab.web.drawing.option_names import field_name

ENDS = {"a": "h1", "b": "s1"}


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("name", "name"),
        ("options.default_route", "default route"),
        ("options.routes[0]", "routes"),
        ("preferences.ip_base", "IP base"),
        ("a_options.speed", "line rate at h1"),
        ("b_options.nic.tso", "NIC tso at s1"),
        ("b_options", "at s1"),
        ("", ""),
    ],
)
def test_fields_have_the_names_of_the_forms(field: str, name: str) -> None:
    assert field_name(field, ENDS) == name
