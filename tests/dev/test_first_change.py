"""Perform the first change that CONTRIBUTING.md shows, in a clone: its test fails, then passes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = CONTRIBUTING.split("## A first change, from clone to commit")[1].split("\n## ")[0]


def run(folder: Path, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in the clone, with its code instead of ours."""
    return subprocess.run(
        command,
        cwd=folder,
        input=given,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a clone")
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_first_change_works_as_it_is_shown(tmp_path: Path) -> None:
    clone = tmp_path / "wanlab"
    cloned = run(ROOT, "git", "clone", "--quiet", "--shared", str(ROOT), str(clone))
    assert cloned.returncode == 0, cloned.stderr
    tested, changed = re.findall(r"```diff\n(.*?)```", SECTION, re.S)
    (test_file,) = re.findall(r"^    \./dev test (\S+)$", SECTION, re.M)
    test = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test_file)

    applied = run(clone, "git", "apply", "-", given=tested)
    assert applied.returncode == 0, applied.stderr
    failed = run(clone, *test)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    (reason,) = re.findall(r"and says why: `(.*?)`", SECTION)
    assert reason in failed.stdout

    applied = run(clone, "git", "apply", "-", given=changed)
    assert applied.returncode == 0, applied.stderr
    passed = run(clone, *test)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert run(clone, sys.executable, "-m", "ruff", "format", "--check", "src").returncode == 0

    (subject,) = re.findall(r'git commit -am "(.*?)"', SECTION)
    assert len(subject) <= 72
    author = ("-c", "user.name=A", "-c", "user.email=a@b")
    committed = run(clone, "git", *author, "commit", "-qam", subject)
    assert committed.returncode == 0, committed.stderr
