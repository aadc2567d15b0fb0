"""The files of programs: their digests, and which of them a submission has changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from .program_path import find_program, is_program

LOADED_PATHS = (
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "run/wanlab/bin",
    "etc/ld.so",
    "etc/alternatives/",
    "etc/python",
)
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


def sha256_of(path: str, folder: int | None = None) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. `path` is relative to the descriptor `folder`.

    Returns "" if it cannot be opened, is not a regular file, or has more than MAX_PROGRAM_BYTES.
    """
    try:
        # Without O_NONBLOCK, a named pipe that a submission left would block here.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(path, flags, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PROGRAM_BYTES:
            return ""
        return hashlib.sha256(file.read()).hexdigest()


def changed_in_overlay(
    upper: str, below: str = "", paths: tuple[str, ...] = LOADED_PATHS
) -> Iterator[str]:
    """Yield the paths of programs, and of files that they load, that an overlay has changed.

    `upper` is the overlay's upper layer. It holds written files, and for each deleted file a device of
    the same name (Linux, Documentation/filesystems/overlayfs.rst). With `below`, only the files in that
    folder are looked at. `paths` are the beginnings of the paths that count.
    """
    for folder, folders, files in _walk(f"{upper}/{below}" if below else upper):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]
        for name in (*files, *links):
            path = f"{folder}/{name}".removeprefix(f"{upper}/")
            if path.startswith(paths) and not path.endswith(UNIMPORTANT_ENDINGS):
                yield f"/{path}"


def programs_below(
    top_folders: Iterable[str], names: set[str], skipped: Collection[str]
) -> Iterator[str]:
    """Yield the paths of all programs with one of these names below some folders.

    Folders in `skipped` are not searched, and no more than MAX_SEARCHED_FILES files of each folder.
    """
    for top in top_folders:
        for folder, _, files in _walk(top, skipped):
            for name in names.intersection(files):
                path = f"{folder}/{name}"
                if is_program(path):
                    yield path


def _walk(top: str, skipped: Collection[str] = ()) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, its folders and links to folders, its other files) for `top` and all below it.

    A submission has made these folders: however deep they are, this takes neither long nor much stack.
    The walk ends after MAX_SEARCHED_FILES files and folders. Those in `skipped` are not visited.
    """
    left = MAX_SEARCHED_FILES
    waiting = [top]
    while waiting and left > 0:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                seen = list(islice(entries, left))
        except OSError:  # not a folder any more, or its path is too long
            continue
        left -= 1 + len(seen)
        folders = [entry.name for entry in seen if entry.is_dir()]
        yield folder, folders, [entry.name for entry in seen if not entry.is_dir()]
        paths = (entry.path for entry in seen if entry.is_dir(follow_symlinks=False))
        waiting += [path for path in paths if path not in skipped]
