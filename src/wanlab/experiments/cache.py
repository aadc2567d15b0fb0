"""Runs that ended well, by their keys: the same run again is answered from here.

    ~/.cache/wanlab/experiments/runs/3f/3f2a9c.../      a run's folder, as in a sweep

A folder comes in by a rename and is never changed. Its files are shared with the sweep that made it
(hard links) where the file system can do that. What is damaged is thrown out when it is asked for. When
all together are larger than the limit, those go first that were not asked for longest.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from wanlab.errors import RecordError
from wanlab.units import parse_size

from .origin import cache_folder
from .result import Result, check_record, read_result

LIMIT_VARIABLE = "WANLAB_CACHE_LIMIT"
LIMIT = "4GB"
ROOM_AFTER_TRIMMING = 0.9


class Cache:
    """The user's own, unless another folder is named."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "runs"

    def find(self, key: str) -> Result | None:
        """The run of that key, whole; None if there is none."""
        place = self._place(key)
        if not place.is_dir():
            return None
        result = read_result(place, is_cached=True)
        try:
            if result is None or result.key != key:
                raise RecordError(f"{place} is damaged")
            check_record(place)
        except RecordError:
            shutil.rmtree(place, ignore_errors=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(place)
        return result

    def put(self, result: Result) -> None:
        """Keeps a run. A cache that cannot be written is no reason to fail."""
        place = self._place(result.key)
        if place.exists():
            return
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            copy_whole(result.folder, place)

    def trim(self) -> None:
        """Throws out what was not asked for longest, if it is more than the limit."""
        limit_bytes = parse_size(os.environ.get(LIMIT_VARIABLE, LIMIT))
        sizes = {place: _size(place) for place in self._places()}
        total = sum(sizes.values())
        if total <= limit_bytes:
            return
        for place in sorted(sizes, key=_asked_for):
            if total <= limit_bytes * ROOM_AFTER_TRIMMING:
                break
            total -= sizes[place]
            shutil.rmtree(place, ignore_errors=True)

    def forget(self, experiment: str = "") -> int:
        """Throws out all runs, or those of one experiment; returns how many."""
        count = 0
        for place in list(self._places()):
            result = read_result(place)
            if not experiment or result is None or result.experiment == experiment:
                shutil.rmtree(place, ignore_errors=True)
                count += 1
        return count

    def _place(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _places(self) -> Iterator[Path]:
        yield from self.folder.glob("[0-9a-f][0-9a-f]/[0-9a-f]*")


def forget_runs(experiment: str = "") -> int:
    """Empties the cache, or what it has of one experiment; returns how many runs that were."""
    return Cache().forget(experiment)


def copy_whole(folder: Path, final: Path) -> None:
    """A copy of a folder that is there whole or not at all; its files are links where that can be."""
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=final.parent))
    try:
        shutil.copytree(folder, unfinished, copy_function=_link, dirs_exist_ok=True)
        unfinished.chmod(0o755)
        unfinished.rename(final)
    except OSError:
        if not final.is_dir():
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def _asked_for(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
