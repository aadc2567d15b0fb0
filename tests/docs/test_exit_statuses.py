"""Commands end with the statuses that the page about the environment lists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "environment.md"


def status(*words: str) -> int:
    command = [sys.executable, "-m", "wanlab.cli", *words]
    return subprocess.run(command, capture_output=True).returncode


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("version", 0),
        ("plan no-such-file.yaml", 1),
        ("plam", 2),
        ("plan --no-such-option", 2),
    ],
)
def test_a_command_ends_with_the_documented_status(words: str, expected: int) -> None:
    assert status(*words.split()) == expected


@pytest.mark.machine
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("sh", "-c", "exit 7"), 7),
        (("no-such-program",), 127),
        (("/etc/passwd",), 126),
        (("sh", "-c", "kill -TERM $$"), 143),
    ],
)
def test_exec_ends_with_the_status_of_its_command(command: tuple[str, ...], expected: int) -> None:
    assert status("exec", "--", *command) == expected


def test_the_page_lists_these_statuses() -> None:
    listed = re.findall(r"^\| ([\d, +N]+) \| ", PAGE.read_text(encoding="utf-8"), re.M)
    assert listed == ["0", "1", "2", "126, 127", "128 + N"]
