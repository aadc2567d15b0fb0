"""What a person has changed in a source tree, as a patch.

The patch has the format of `git diff`, and equal changes always give equal bytes, because its hash is
part of the manifest. So the same edit is the same kernel, wherever the tree is.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import BuildError

# New files that count: the others are notes, backups, or made by editors and compilers.
_SOURCE_NAMES = ("Makefile", "Kbuild", "Kconfig")
_SOURCE_SUFFIXES = (".c", ".h", ".S", ".lds", ".sh", ".awk", ".pl", ".tbl", ".x509")
# What `make` leaves in a tree; its generated files would look like changes.
_COMPILED = (".config", "include/config", "include/generated", "vmlinux.o")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One file that differs: its contents before and after, None where it does not exist."""

    path: str
    old: bytes | None
    new: bytes | None
    is_executable: bool = False


def changes(source: Path, tree: Path) -> list[Change]:
    """Return the files in which an edited tree differs from its source, sorted by path.

    Raises BuildError if the tree is not a source tree, or contains what `make` generates.
    """
    for name in _COMPILED:
        if (tree / name).exists():
            raise BuildError(
                f"{tree} has been compiled with make: it contains {name}",
                f"wanlab compiles elsewhere; remove generated files: make -C {tree} ARCH=um mrproper",
            )
    old, new = _files(source), _files(tree)
    if "Makefile" not in new:
        raise BuildError(
            f"{tree} is not the source tree of a kernel: it has no Makefile",
            f"unpack one with: wanlab kernel tree {tree}",
        )
    found = []
    for path in sorted({*old, *new}):
        if path not in new:
            found.append(Change(path=path, old=_read(source / path), new=None))
        elif path not in old:
            if _is_source(path):
                executable = bool(new[path].st_mode & stat.S_IXUSR)
                content = _read(tree / path)
                found.append(Change(path=path, old=None, new=content, is_executable=executable))
        elif not _same_status(old[path], new[path]):
            before, after = _read(source / path), _read(tree / path)
            if before != after:
                found.append(Change(path=path, old=before, new=after))
    return found


def _files(folder: Path) -> dict[str, os.stat_result]:
    """Return the status of each ordinary file below a folder by its path, without hidden new ones."""
    found: dict[str, os.stat_result] = {}
    pending = [""]
    while pending:
        parent = pending.pop()
        with os.scandir(folder / parent) as entries:
            for entry in entries:
                path = f"{parent}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if path != ".git":
                        pending.append(f"{path}/")
                elif entry.is_file(follow_symlinks=False):
                    found[path] = entry.stat(follow_symlinks=False)
    return found


def _same_status(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether size and time are equal. An edit changes the time; unpacking a tree keeps it."""
    return one.st_size == other.st_size and one.st_mtime_ns == other.st_mtime_ns


def _is_source(path: str) -> bool:
    name = PurePosixPath(path)
    if any(part.startswith(".") for part in name.parts) or name.name.endswith(".mod.c"):
        return False
    return name.suffix in _SOURCE_SUFFIXES or name.name.partition(".")[0] in _SOURCE_NAMES


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BuildError(f"cannot read {path}: {error.strerror}") from None


def as_patch(changed: Iterable[Change]) -> bytes:
    """Return changes as a patch for `patch -p1`; b"" without any."""
    return b"".join(_one_file(change) for change in changed)


def _one_file(change: Change) -> bytes:
    if b"\0" in (change.old or b"") or b"\0" in (change.new or b""):
        raise BuildError(
            f"{change.path} is not a text, so it cannot be part of a patch",
            "remove it from the tree, or restore it",
        )
    mode = "100755" if change.is_executable else "100644"
    lines = [f"diff --git a/{change.path} b/{change.path}\n"]
    if change.old is None:
        lines.append(f"new file mode {mode}\n")
    elif change.new is None:
        lines.append("deleted file mode 100644\n")
    before = "/dev/null" if change.old is None else f"a/{change.path}"
    after = "/dev/null" if change.new is None else f"b/{change.path}"
    lines += difflib.unified_diff(
        _lines(change.old), _lines(change.new), before, after, lineterm="\n"
    )
    return "".join(_with_ends(lines)).encode("utf-8", errors="surrogateescape")


def _lines(content: bytes | None) -> list[str]:
    """Return the lines with their ends; only a line feed ends one, as for `patch`."""
    text = (content or b"").decode("utf-8", errors="surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _with_ends(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
