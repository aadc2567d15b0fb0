"""A copy of the checkout, in which tests run: whatever a mutant does to files, it does it there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEFT_OUT = ("ui/", "kernel/patches", "docs/evidence/gallery/")
"""Folders that no test of the mutated modules reads."""


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Copy the files that git tracks, and new ones that it does not ignore, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    folder = Path(tempfile.mkdtemp(prefix="wanlab-mutants-")).resolve()
    try:
        for name in filter(None, names.split("\0")):
            source, target = root / name, folder / name
            if name.startswith(LEFT_OUT) or not source.is_file():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
