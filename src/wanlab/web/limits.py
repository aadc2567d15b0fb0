"""Limits of a laboratory that shares its computer with others."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError
from wanlab.network import NO_CHOICE, MachineChoice

MAX_FILES = 100_000
"""The largest number of files in the folder of a student."""
TOO_MANY_FILES = 1 << 62
"""The size of a folder that has more of them."""


async def _always() -> None:
    """Admit every network."""


@dataclass(frozen=True)
class ClassRules:
    """Rules for the networks of a laboratory, and for a student's in a class.

    seed            of the networks of units; None: as the page says
    choice          of the machine of networks
    memory_bytes    of a network; None: as much as it needs
    folder_limit    for what is in the working folder; None: no limit
    admit           asked before a network starts; raises WanlabError to refuse it
    hand_in         keeps a hand-in: the name of the unit, and the packed file; WanlabError if that
                    is not possible. None: no class
    """

    seed: int | None = None
    memory_bytes: int | None = None
    folder_limit: FolderLimit | None = None
    admit: Callable[[], Awaitable[None]] = _always
    hand_in: Callable[[str, bytes], Awaitable[None]] | None = None
    choice: MachineChoice = NO_CHOICE

    def machine_options(self) -> dict[str, Any]:
        """Return the arguments of a `Network` that these rules decide."""
        return {**asdict(self.choice), "memory": self.memory_bytes}

    @property
    def is_class(self) -> bool:
        """Whether this is the laboratory of a student in a class."""
        return self.hand_in is not None


class FolderLimit:
    """A limit for the size of a folder, which is measured from time to time.

    A folder above the limit can still be used for deleting files, but it may not grow further.
    `kept_bytes` are used elsewhere, by hand-ins, and count as well.
    """

    def __init__(self, folder: Path, limit_bytes: int, kept_bytes: int = 0) -> None:
        self._folder = folder
        self.kept_bytes = kept_bytes
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._allowed_bytes = limit_bytes

    def is_exceeded(self) -> bool:
        """Measure the folder, and return whether it has grown above the limit."""
        self._measure()
        is_exceeded = self.used_bytes > self._allowed_bytes
        self._allowed_bytes = max(self.limit_bytes, self.used_bytes)
        return is_exceeded

    def check(self, more_bytes: int) -> None:
        """WanlabError if there is no space for a file."""
        self._measure()
        if self.used_bytes + more_bytes > self.limit_bytes:
            raise WanlabError(self.reason(), "delete files in a terminal of a node")

    def reason(self) -> str:
        """Say that the folder is full."""
        if self.used_bytes == TOO_MANY_FILES:
            return f"your folder has more than {MAX_FILES:,} files, which is the limit"
        holds = "folder and your hand-ins hold" if self.kept_bytes else "folder holds"
        return (
            f"your {holds} {_megabytes(self.used_bytes)}, "
            f"and the limit is {_megabytes(self.limit_bytes)}"
        )

    def _measure(self) -> None:
        used_bytes = _used_bytes(self._folder)
        too_many = used_bytes == TOO_MANY_FILES
        self.used_bytes = used_bytes if too_many else used_bytes + self.kept_bytes


def _megabytes(size_bytes: int) -> str:
    """Return a size in the unit of all sizes of folders: "1,077.7 MB"."""
    return f"{size_bytes / 1e6:,.1f} MB"


def _used_bytes(folder: Path) -> int:
    """Return the size of a folder on disk, or TOO_MANY_FILES if it has more than MAX_FILES."""
    used_bytes = files = 0
    pending = [str(folder)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:  # removed in the meantime, or not readable
            continue
        files += len(entries)
        if files > MAX_FILES:
            return TOO_MANY_FILES
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            used_bytes += status.st_blocks * 512
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return used_bytes
