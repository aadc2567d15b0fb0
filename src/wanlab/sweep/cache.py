"""Successful runs by their keys, so that no run is performed twice.

    ~/.cache/wanlab/experiments/runs/3f/3f2a9c.../      a run's folder, as in a sweep

A folder is added by a rename and never changed. It shares its files with the sweep that made it (hard
links) where the file system supports that. A damaged folder is removed when it is read. When the cache
is larger than its limit, the least recently used runs are removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from wanlab.errors import RecordError
from wanlab.jobs.programs import experiments_folder
from wanlab.jobs.store import copy_atomically
from wanlab.run.result import Result, check_record, read_result
from wanlab.units import parse_size

LIMIT_VARIABLE = "WANLAB_CACHE_LIMIT"
DEFAULT_LIMIT = "4GB"
FILL_AFTER_TRIMMING = 0.9


class Cache:
    """A folder of runs; by default the user's."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or experiments_folder() / "runs"

    def find(self, key: str) -> Result | None:
        """Return the run with this key; None if there is none, or a damaged one, which is removed."""
        folder = self._folder_of(key)
        if not folder.is_dir():
            return None
        result = read_result(folder, is_cached=True)
        try:
            if result is None or result.key != key:
                raise RecordError(f"{folder} is damaged")
            check_record(folder)
        except RecordError:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return result

    def put(self, result: Result) -> None:
        """Add a run. If the cache cannot be written, nothing happens."""
        folder = self._folder_of(result.key)
        if folder.exists():
            return
        with contextlib.suppress(OSError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            copy_atomically(result.folder, folder)

    def trim(self) -> None:
        """Remove the least recently used runs if the cache is larger than its limit."""
        limit_bytes = parse_size(os.environ.get(LIMIT_VARIABLE, DEFAULT_LIMIT))
        sizes = {folder: _size_bytes(folder) for folder in self._folders()}
        total_bytes = sum(sizes.values())
        if total_bytes <= limit_bytes:
            return
        for folder in sorted(sizes, key=_last_used_s):
            if total_bytes <= limit_bytes * FILL_AFTER_TRIMMING:
                break
            total_bytes -= sizes[folder]
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self, experiment: str = "") -> int:
        """Remove all runs, or those of one experiment; return how many."""
        count = 0
        for folder in list(self._folders()):
            result = read_result(folder)
            if not experiment or result is None or result.experiment == experiment:
                shutil.rmtree(folder, ignore_errors=True)
                count += 1
        return count

    def _folder_of(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _folders(self) -> Iterator[Path]:
        yield from self.folder.glob("[0-9a-f][0-9a-f]/[0-9a-f]*")


def forget_runs(experiment: str = "") -> int:
    """Remove all runs from the cache, or those of one experiment; return how many."""
    return Cache().forget(experiment)


def _size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def _last_used_s(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
