"""Usage lines, and messages about files that cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def _wanlab(*words: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "wanlab.cli", *words], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("exec", "wanlab exec [OPTIONS] [--] COMMAND..."),
        ("capture", "wanlab capture [OPTIONS] [FILTER] [-- COMMAND]"),
        ("python", "wanlab python [OPTIONS] [SCRIPT [ARGUMENTS]]"),
        ("lab check", "wanlab lab check [OPTIONS] UNIT"),
        ("reproduce run", "wanlab reproduce run [OPTIONS] NAME..."),
    ],
)
def test_usage_is_written_as_in_man_pages(command: str, usage: str) -> None:
    shown, _ = _wanlab(*command.split(), "--help")
    assert shown.splitlines()[0] == f"Usage: {usage}"


def test_a_missing_file_is_named_once_and_without_error_numbers(tmp_path: Path) -> None:
    missing = tmp_path / "students.csv"
    _, problem = _wanlab("lab", "grade", str(tmp_path), "--seeds", str(missing))
    assert problem == f"wanlab: cannot read {missing}: No such file or directory\n"


def test_a_missing_topology_file_is_not_called_a_shape() -> None:
    _, problem = _wanlab("plan", "topology.yamll")
    assert problem.startswith("wanlab: topology.yamll is not in a known topology format")
