"""The working folder: the only part of the disk that a browser can see and change.

A path comes from outside as text. It is split, refused if a part is ambiguous, joined to the folder
and resolved; whatever then lies outside, through a symbolic link or `..`, is refused. Programs in the
network can write the folder, too, so files are opened through `SharedFolder`, without following
links. Names that begin with a dot are neither listed nor served, because wanlab keeps its own state
there.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from wanlab.errors import WanlabError
from wanlab.session import STATE_FOLDER
from wanlab.shared_folder import SharedFolder, check_owner, file_error

from .protocol.messages import FileInfo, Folder

MAX_NAME_BYTES = 255  # NAME_MAX of Linux
MAX_LISTED_FILES = 2000
MAX_UPLOAD_BYTES = 16 << 20
MAX_TOPOLOGY_BYTES = 4 << 20


class OutsideError(WanlabError):
    """A path outside the working folder."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is not a path in the working folder")


class WorkingFolder:
    """Reads and writes files. Paths are relative to the folder, with slashes: "results/a.pdf"."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve(strict=True)
        if not self.path.is_dir():
            raise WanlabError(f"{path} is not a folder", "name one with --folder")
        self.shared = SharedFolder(self.path)

    def name(self, path: str) -> str:
        """Return the name of a file in the folder. OutsideError if the path is not below it.

        A link inside the folder is refused when the file is opened.
        """
        parts = path.split("/")
        for part in parts:
            if part in ("", ".", "..") or part.startswith(".") or "\\" in part:
                raise OutsideError(path)
            if not part.isprintable() or "\ufffd" in part:
                raise OutsideError(path)
            if len(os.fsencode(part)) > MAX_NAME_BYTES:
                raise WanlabError(f"the name {part[:40]}... is too long", "choose a shorter one")
        try:
            real = self.path.joinpath(*parts).resolve()
        except (OSError, RuntimeError):
            raise OutsideError(path) from None
        if not real.is_relative_to(self.path) or self._is_hidden(real):
            raise OutsideError(path)
        return path

    def _is_hidden(self, real: Path) -> bool:
        """Return whether a resolved path is hidden; a symbolic link may lead to one."""
        return any(part.startswith(".") for part in real.relative_to(self.path).parts)

    def path_of(self, file: Path) -> str:
        """Return the path of a file relative to the folder."""
        return file.relative_to(self.path).as_posix()

    def list(self, under: str = "") -> Folder:
        """Return the entries of a folder: folders first, then files, by name. Links are left out."""
        name = self.name(under.strip("/")) if under.strip("/") else ""
        try:
            entries = self.shared.subfolder(name).entries()
        except OSError as error:
            raise file_error("list", under or ".", error) from None
        entries.sort(key=lambda entry: _natural(entry[0]))
        files = [info for entry in entries[:MAX_LISTED_FILES] if (info := self._info(name, *entry))]
        files.sort(key=lambda info: not info.is_folder)
        return Folder(name, tuple(files))

    def _info(self, under: str, name: str, status: os.stat_result) -> FileInfo | None:
        path = f"{under}/{name}" if under else name
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not stat.S_ISREG(status.st_mode):
            return None
        try:
            self.name(path)
        except WanlabError:
            return None
        return FileInfo(name, path, is_folder, 0 if is_folder else status.st_size, status.st_mtime)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading. FileNotFoundError if there is none."""
        return self.shared.open(self.name(path))

    def read_bytes(self, path: str, max_bytes: int) -> bytes:
        """Return a whole file. WanlabError if it is larger than `max_bytes`."""
        try:
            with self.open(path) as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise file_error("read", path, error) from None
        if len(data) > max_bytes:
            raise WanlabError(f"{path} is larger than {max_bytes >> 20} MiB")
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file atomically: an old one stays until the new one is complete."""
        try:
            self.shared.write(self.name(path), data, syncs=True)
        except OSError as error:
            raise file_error("write", path, error) from None

    @property
    def state_folder(self) -> SharedFolder:
        """The folder for wanlab's own state; created when it is needed."""
        return make_state_folder(self.shared)

    def walk(self, max_files: int) -> Iterator[tuple[str, int]]:
        """Yield up to `max_files` files with the time of their last change."""
        left = max_files
        for folder, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                if name.startswith("."):
                    continue
                left -= 1
                if left < 0:
                    return
                file = Path(folder, name)
                with contextlib.suppress(OSError):
                    yield self.path_of(file), file.lstat().st_mtime_ns


def make_state_folder(folder: SharedFolder) -> SharedFolder:
    """Make the folder for wanlab's own state in a folder. WanlabError if it is not ours."""
    state = folder.subfolder(STATE_FOLDER)
    try:
        check_owner(state.make())
    except OSError as error:
        hint = "choose another folder with --folder"
        raise file_error("write", state.path, error, hint) from None
    return state


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file through a temporary one beside it, so that a half-written file is never read."""
    SharedFolder(path.parent).write(path.name, data, syncs=True)


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts "Lab 2" before "Lab 10"."""
    words = re.findall(r"(\D*)(\d*)", name.casefold())
    return [(text, int(digits or "0")) for text, digits in words]
