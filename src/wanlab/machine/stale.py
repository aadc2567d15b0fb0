"""What killed runs have left, and taking it away: only what is ours, known by what was noted.

    machines      that somebody keeps alive although their program has ended (see `runs`)
    notes         of machines that are gone
    kernel builds that were killed: what they left in the cache, if no build is at work (its lock says)

Nothing else can be left. Namespaces, claims of CPUs and sockets end with their processes, and memory
files have no names. Results of runs that did not end (`.partial`) are measurements, and are kept.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import runs
from .embedded.image import cache_folder

BUILDING = "building-"


@dataclass(frozen=True)
class StaleItem:
    """`remove` takes it away, and nothing else."""

    what: str
    remove: Callable[[], None]


def find_stale() -> list[StaleItem]:
    """Looks; removes nothing."""
    return [*_killed_runs(), *_killed_builds(cache_folder())]


def _killed_runs() -> Iterator[StaleItem]:
    for run in runs.runs():
        if run.is_stale:
            state = (
                f"which still runs (process {run.machine.pid})"
                if run.machine.is_running()
                else "of which only the note is left"
            )
            owner = f"a program that was killed (process {run.owner.pid})"
            yield StaleItem(f"the {run.kind} machine of {owner}, {state}", run.clean)


def _killed_builds(cache: Path) -> Iterator[StaleItem]:
    for folder in sorted(cache.glob(f"{BUILDING}*")):
        if _is_free(cache):
            yield StaleItem(
                f"{folder}, of a kernel build that was killed", lambda: _remove_build(cache)
            )


def _is_free(cache: Path) -> bool:
    with (cache / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _remove_build(cache: Path) -> None:
    with (cache / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # one has begun since
            return
        for folder in cache.glob(f"{BUILDING}*"):
            shutil.rmtree(folder, ignore_errors=True)
