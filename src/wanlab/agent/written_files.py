"""The files that programs wrote outside the working folder. They are lost when the machine ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from . import integrity

HOME = f"{integrity.RUN_FOLDER}/home"
HOME_NAME = "home"
"""Where files of the home folder are kept."""
NOT_RESULTS = (
    *integrity.PROGRAM_FOLDERS,
    "boot",
    "dev",
    "libx32",
    "proc",
    "run",
    "sys",
    "tmp",
    "var",
)
"""Folders at the root in which system programs write. The machine's own /tmp is looked at apart."""
CONTROLLERS_LOG = ("/tmp/c", ".log")
"""The path of a log that Mininet's controllers write, without the controller's number."""
MAX_ENTRIES = 20_000
MAX_FILES = 1_000
CHUNK_BYTES = 1 << 20


def written_files(keep: str = "") -> list[tuple[str, int]]:
    """Return the path and the size of each file, at most MAX_FILES; copy them to the folder `keep`.

    Not those of system programs, hidden ones, empty ones, and those in namespaces of their own. "~"
    stands for the home folder.
    """
    files: list[tuple[str, int]] = []
    if not _is_working_folder("/tmp"):
        files += _collect("/tmp", "/tmp", keep and f"{keep}/tmp")
    files += _collect(HOME, "~", keep and f"{keep}/{HOME_NAME}")
    with integrity.in_upper():
        for name in sorted(os.listdir(".")):
            if name not in NOT_RESULTS and os.path.isdir(name):
                files += _collect(name, f"/{name}", keep and f"{keep}/{name}")
    return files[:MAX_FILES]


def _collect(top: str, shown: str, keep: str) -> list[tuple[str, int]]:
    files = []
    for path in sorted(islice(_results_below(top), MAX_FILES)):
        name = shown + path.removeprefix(top)
        if name.startswith(CONTROLLERS_LOG[0]) and _is_controllers_log(name):
            continue
        files.append((name, os.stat(path).st_size))
        if keep:
            _copy(path, keep + path.removeprefix(top))
    return files


def _is_working_folder(path: str) -> bool:
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
        kinds = [kind for _, folder, kind, *_ in map(str.split, mounts) if folder == path]
    return kinds[-1:] == ["hostfs"]


def _is_controllers_log(path: str) -> bool:
    begin, end = CONTROLLERS_LOG
    return path.endswith(end) and path.removeprefix(begin).removesuffix(end).isdigit()


def _results_below(top: str) -> Iterator[str]:
    """Yield the paths of regular files in `top`, but not on other mounts, as the working folder is."""
    device = os.stat(top).st_dev
    waiting, left = [top], MAX_ENTRIES
    while waiting and left > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                seen = list(islice(entries, left))
        except OSError:  # removed meanwhile, or its path is too long
            continue
        left -= 1 + len(seen)
        for entry in seen:
            if entry.name.startswith((".", "__pycache__")):
                continue
            status = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                if status.st_dev == device:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and status.st_size:
                yield entry.path


def _copy(path: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(path, "rb") as source, open(target, "wb") as copy:
        while data := source.read(CHUNK_BYTES):
            copy.write(data)
