"""Test the encoding of messages and of socket options."""

from __future__ import annotations

import struct

import pytest

from wanlab.generator.messages import timeval


@pytest.mark.parametrize(
    ("nanoseconds", "parts"),
    [(0, (0, 0)), (1, (0, 1)), (1_500_000_000, (1, 500_000)), (1_999_999_585, (2, 0))],
)
def test_a_time_is_rounded_up_to_microseconds(nanoseconds: int, parts: tuple[int, int]) -> None:
    """The kernel refuses a value of a million microseconds (EDOM)."""
    assert struct.unpack("@ll", timeval(nanoseconds)) == parts
