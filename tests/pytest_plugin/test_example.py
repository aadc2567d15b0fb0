"""The example project's tests pass, two at a time, and leave nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "examples" / "client-server-tests"
PLUGIN = [] if entry_points(group="pytest11", name="wanlab") else ["-p", "wanlab.pytest_plugin"]


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(14)
def test_the_example_projects_tests_pass() -> None:
    before = sorted(PROJECT.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "-q", "-n", "2"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    (passed,) = re.findall(r"^(\d+) passed in", done.stdout, re.MULTILINE) or [done.stdout]
    assert int(passed) > 10
    assert sorted(PROJECT.rglob("*")) == before


def test_the_workflow_needs_no_root() -> None:
    text = (PROJECT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    job = yaml.safe_load(text)["jobs"]["tests"]
    (tests,) = [step for step in job["steps"] if "pytest" in step.get("run", "")]
    assert tests["run"].splitlines()[1].startswith("runuser --user tester ")
    assert "pytest -n auto" in tests["run"]
    assert "sudo" not in text
    assert "privileged" not in str(job)
