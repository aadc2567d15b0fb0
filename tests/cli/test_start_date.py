"""A network begins at the same date in every machine, or at a given one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from wanlab.cli import start_date
from wanlab.errors import WanlabError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-28", "2026-11-28 00:00:00.000000"),
        ("2026-11-28 12:30", "2026-11-28 12:30:00.000000"),
        ("2026-11-28T12:30:00+02:00", "2026-11-28 10:30:00.000000"),
        (None, ""),
    ],
)
def test_a_date_is_in_utc(text: str | None, expected: str) -> None:
    assert start_date.parse(text) == expected


def test_now_is_the_computers_date() -> None:
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", start_date.parse("now"))


def test_a_word_that_is_no_date_is_refused() -> None:
    with pytest.raises(WanlabError, match='--date "tomorrow" is not a date'):
        start_date.parse("tomorrow")


@pytest.mark.machine
@pytest.mark.parametrize(
    "command",
    [
        ["exec", "--date", "2026-11-28 12:30", "--", "date", "+%F %T"],
        [
            "python",
            "--date",
            "2026-11-28 12:30",
            "-c",
            "import time; print(time.strftime('%F %T'))",
        ],
    ],
)
def test_a_command_begins_at_the_date(wanlab: Any, command: list[str]) -> None:
    ran = wanlab(*command)
    assert (ran.status, ran.output, ran.errors) == (0, b"2026-11-28 12:30:00\n", "")


@pytest.mark.machine
def test_the_default_is_the_first_day_of_2026(wanlab: Any) -> None:
    assert wanlab("exec", "--", "date", "+%F").output == b"2026-01-01\n"
