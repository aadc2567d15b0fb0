"""Long tests are left out of a run of all tests only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
OPTIONS = """
[pytest]
testpaths = tests
markers =
    long
    machine
    costs
"""
TESTS = """
import pytest

def test_quick(): pass

@pytest.mark.long
def test_slow(): pass
"""
QUICK, SLOW = "tests/test_some.py::test_quick", "tests/test_some.py::test_slow"


@pytest.mark.parametrize(
    ("words", "run"),
    [
        ([], [QUICK]),
        (["-m", "not machine"], [QUICK]),
        (["--long"], [QUICK, SLOW]),
        (["tests/test_some.py"], [QUICK, SLOW]),
        (["-k", "some"], [QUICK, SLOW]),
        (["-m", "long"], [SLOW]),
    ],
)
def test_long_tests_are_run_on_request_or_by_name(
    words: list[str], run: list[str], tmp_path: Path
) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(CONFTEST, tests)
    (tests / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(OPTIONS)
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # they take most of the time
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in collected.stdout.splitlines() if "::" in line] == run
