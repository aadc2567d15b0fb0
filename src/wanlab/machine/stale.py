"""Finds and removes what killed programs have left: only wanlab's own, identified by notes.

    machines       that another process keeps alive although their program has ended (see `notes`)
    notes          of machines that are gone
    folders        temporary ones, of replays, grades and runs (see `wanlab.temporary`)
    kernel builds  that were killed: their files in the cache, if no build is running (its lock says so)

Nothing else can be left. Namespaces, CPU claims and sockets end with their processes, and memory files
have no names. Results of runs that did not end (`.partial`) are measurements, and are kept.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wanlab import temporary

from . import notes
from .embedded.image import kernels_folder

BUILDING = "building-"


@dataclass(frozen=True)
class StaleItem:
    """Something that a killed program has left. `remove` removes exactly what `what` describes."""

    what: str
    remove: Callable[[], None]


def find_stale() -> list[StaleItem]:
    """Return everything that could be removed, without removing it."""
    return [
        *_machines_of_killed_programs(),
        *_folders_of_killed_programs(),
        *_killed_builds(kernels_folder()),
    ]


def _machines_of_killed_programs() -> Iterator[StaleItem]:
    for note in notes.read_all():
        if note.is_stale:
            state = (
                f"which still runs (process {note.machine.pid})"
                if note.machine.is_running()
                else "of which only the note is left"
            )
            owner = f"a program that was killed (process {note.owner.pid})"
            yield StaleItem(f"the {note.kind} machine of {owner}, {state}", note.clean)


def _folders_of_killed_programs() -> Iterator[StaleItem]:
    for note in temporary.folder_notes():
        if note.is_stale:
            state = "" if note.has_folder else ", of which only the note is left"
            what = f"the temporary folder {note.folder} of a program that was killed"
            yield StaleItem(f"{what} (process {note.owner.pid}){state}", note.clean)


def _killed_builds(cache: Path) -> Iterator[StaleItem]:
    for folder in sorted(cache.glob(f"{BUILDING}*")):
        if _is_unlocked(cache):
            yield StaleItem(
                f"{folder}, of a kernel build that was killed", lambda: _remove_builds(cache)
            )


def _is_unlocked(cache: Path) -> bool:
    with (cache / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _remove_builds(cache: Path) -> None:
    with (cache / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # a build has begun since
            return
        for folder in cache.glob(f"{BUILDING}*"):
            shutil.rmtree(folder, ignore_errors=True)
