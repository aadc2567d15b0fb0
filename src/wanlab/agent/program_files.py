"""The files of programs: their digests, and which of them a submission has changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator

from .program_path import find_program, is_program

LOADED_PATHS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "run/wanlab/bin", "etc/ld.so")
"""The beginnings of the paths of programs, and of the files that programs load."""
UNIMPORTANT_ENDINGS = (".pyc", "~")
MAX_SEARCHED_FILES = 10_000
MAX_PROGRAM_BYTES = 1 << 26


def program_files(names: Iterable[str], path: str) -> list[dict[str, str]]:
    """Return the `path` and the `sha256` of each program that is in PATH, in the order of names.

    `path` is the value of PATH.
    """
    files: list[dict[str, str]] = []
    for name in sorted(set(names)):
        program = find_program(name, path)
        if program is not None:
            files.append({"path": program, "sha256": sha256_of(program)})
    return files


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal digits.

    Returns "" if it cannot be opened, is not a regular file, or has more than MAX_PROGRAM_BYTES.
    """
    try:
        # Without O_NONBLOCK, a named pipe that a submission left would block here.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PROGRAM_BYTES:
            return ""
        return hashlib.sha256(file.read()).hexdigest()


def changed_in_overlay(upper: str) -> Iterator[str]:
    """Yield the paths of programs, and of files that they load, that an overlay has changed.

    `upper` is the overlay's upper layer. It holds written files, and for each deleted file a device of
    the same name (Linux, Documentation/filesystems/overlayfs.rst).
    """
    for folder, folders, files in os.walk(upper):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]
        for name in (*files, *links):
            path = os.path.relpath(f"{folder}/{name}", upper)
            if path.startswith(LOADED_PATHS) and not path.endswith(UNIMPORTANT_ENDINGS):
                yield f"/{path}"


def programs_below(
    top_folders: Iterable[str], names: set[str], skipped: Collection[str]
) -> Iterator[str]:
    """Yield the paths of all programs with one of these names below some folders.

    Folders in `skipped` are not searched. The search ends after MAX_SEARCHED_FILES files and folders,
    so that a submission cannot make it take long.
    """
    left = MAX_SEARCHED_FILES
    for top in top_folders:
        for folder, below, files in os.walk(top):
            if folder in skipped:
                below.clear()
                continue
            left -= 1 + len(files)
            if left < 0:
                return
            for name in names.intersection(files):
                path = f"{folder}/{name}"
                if is_program(path):
                    yield path
