"""Run `examples/traces/make.py` as its users do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "traces" / "make.py"


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


def test_its_help_writes_nothing(tmp_path: Path) -> None:
    assert "usage: make.py" in make(tmp_path, "--help").stdout
    assert list(tmp_path.iterdir()) == []


def test_it_makes_the_folder_and_always_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make(tmp_path, name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == ["cellular.trace", "constant.trace", "leo.trace"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
