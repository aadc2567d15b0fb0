"""The folder that a machine shares with its user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from wanlab.errors import RequirementError

# Folders that a machine makes itself. No folder of the computer may be mounted over them.
OWN_FOLDERS = ("/", "/boot", "/dev", "/etc", "/proc", "/run", "/sys")
OWN_TREES = ("/dev", "/proc", "/sys", "/run/wanlab")
SHARED_IN_OWN_TREES = ("/dev/shm", "/dev/mqueue")

PADDING = "WANLAB_PADDING"
"""The variable that makes the environment as long in every folder."""
PADDED_BYTES = 256

_reported: set[Path] = set()


def padding_of(path: str) -> str:
    """Return the slashes that make a path PADDED_BYTES long, or the next multiple of it.

    Behind the path of a folder they change nothing (POSIX, 4.16 "Pathname Resolution").
    """
    return "/" * (-len(os.fsencode(path)) % PADDED_BYTES)


def padded(path: str) -> str:
    """Return the path of a folder in a length that says nothing about it."""
    path = path.rstrip("/") or "/"
    return path + padding_of(path)


def check_working_folder(folder: Path) -> Path:
    """Return the folder's absolute path. RequirementError if programs could not write there."""
    try:
        resolved = folder.resolve(strict=True)
    except OSError as error:
        raise RequirementError(f"working folder {folder}: {error.strerror}") from None
    if not resolved.is_dir():
        raise RequirementError(f"working folder {folder} is not a folder")
    if not os.access(resolved, os.W_OK | os.X_OK):
        raise RequirementError(
            f"working folder {folder}: no permission to write",
            "run wanlab in a folder that you can write to",
        )
    return resolved


def _is_own(path: Path) -> bool:
    if any(map(path.is_relative_to, SHARED_IN_OWN_TREES)):
        return False
    return str(path) in OWN_FOLDERS or any(map(path.is_relative_to, OWN_TREES))


def can_be_shared(folder: Path, guest_folder: str = "") -> bool:
    """Return whether a machine can share this folder; if not, warn once on standard error.

    A container's usual folder is `/`. Programs run there, but the files that they write are lost.
    """
    mount_point = Path(guest_folder or folder)
    # With `/` the kernel could write everywhere, wherever the folder is mounted.
    if folder != Path("/") and not _is_own(mount_point):
        return True
    if folder not in _reported:
        _reported.add(folder)
        print(
            f"wanlab: a machine cannot share {folder}: files that programs write there are lost "
            "(run wanlab in another folder, such as your home folder, to keep them)",
            file=sys.stderr,
        )
    return False
