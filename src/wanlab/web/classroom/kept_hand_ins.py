"""The hand-ins of a student that the hub keeps.

They count against the limit of the student's folder. The newest hand-in of a unit is never removed; of
those before it, MAX_BEFORE are kept, fewer if there is no space.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.units import format_size

from ..folder import write_atomically

MAX_BEFORE = 9
TIME = "%Y%m%d-%H%M%S"
SUFFIXES = (".zip", ".sh", ".yaml")


@dataclass(frozen=True)
class HandInFile:
    """A file that was handed in."""

    unit: str
    path: Path
    at_s: float
    size_bytes: int


def hand_ins_in(folder: Path) -> list[HandInFile]:
    """Return a student's hand-ins, the oldest first."""
    return sorted(_hand_ins(folder), key=lambda it: (it.at_s, it.path))


def size_of(hand_ins: Sequence[HandInFile]) -> int:
    """Return the bytes of hand-ins."""
    return sum(it.size_bytes for it in hand_ins)


def keep(
    folder: Path, unit: str, seed: int, packed: bytes, *, folder_bytes: int, limit_bytes: int
) -> None:
    """Write a hand-in under a name that no student chooses, and remove old ones.

    `folder_bytes` is the size of the student's own folder. WanlabError if there is no space.
    """
    kept = hand_ins_in(folder)
    space_bytes = limit_bytes - folder_bytes - len(packed)
    surplus = surplus_of(kept, unit, space_bytes)
    if size_of(kept) - size_of(surplus) > space_bytes:
        raise WanlabError(
            f"your folder and your hand-ins may hold {format_size(limit_bytes)} together, and there is "
            f"no space for this one of {format_size(len(packed))}",
            "delete files in a terminal of a node",
        )
    write_atomically(folder / f"{unit}-seed{seed}-{time.strftime(TIME)}.zip", packed)
    for it in surplus:
        with contextlib.suppress(OSError):
            it.path.unlink()


def surplus_of(kept: Sequence[HandInFile], unit: str, space_bytes: int) -> list[HandInFile]:
    """Return what to remove before another hand-in of a unit; `kept` begins with the oldest."""
    of_unit = [it for it in kept if it.unit == unit]
    surplus = of_unit[: max(0, len(of_unit) - MAX_BEFORE)]
    newest = {it.unit: it for it in kept if it.unit != unit}
    left_bytes = size_of(kept) - size_of(surplus)
    for it in kept:
        if left_bytes <= space_bytes:
            break
        if it not in surplus and newest.get(it.unit) is not it:
            surplus.append(it)
            left_bytes -= it.size_bytes
    return surplus


def _hand_ins(folder: Path) -> Iterator[HandInFile]:
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(SUFFIXES) and not entry.name.startswith("."):
                unit = entry.name.partition("-")[0].partition(".")[0]
                status = entry.stat(follow_symlinks=False)
                yield HandInFile(unit, Path(entry.path), status.st_mtime, status.st_size)
