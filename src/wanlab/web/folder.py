"""The working folder: the only part of the disk that a browser can see and change.

A path comes from outside as text. It is split, refused if a part is ambiguous, joined to the folder
and resolved; whatever then lies outside, through a symbolic link or `..`, is refused. Names that
begin with a dot are neither listed nor served, because wanlab keeps its own state there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.session import STATE_FOLDER

from .protocol import FileInfo, Folder

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

    def resolve(self, path: str) -> Path:
        """Return the absolute path. OutsideError if it is not below the folder."""
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
        return real

    def _is_hidden(self, real: Path) -> bool:
        """Return whether a resolved path is hidden; a symbolic link may lead to one."""
        return any(part.startswith(".") for part in real.relative_to(self.path).parts)

    def path_of(self, file: Path) -> str:
        """Return the path of a file relative to the folder."""
        return file.relative_to(self.path).as_posix()

    def list(self, under: str = "") -> Folder:
        """Return the entries of a folder: folders first, then files, by name."""
        folder = self.resolve(under.strip("/")) if under.strip("/") else self.path
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name.casefold())
        except OSError as error:
            raise WanlabError(f"cannot list {under or '.'}: {error.strerror or error}") from None
        files = [info for entry in entries[:MAX_LISTED_FILES] if (info := self._info(entry))]
        files.sort(key=lambda info: not info.is_folder)
        return Folder(self.path_of(folder) if folder != self.path else "", tuple(files))

    def _info(self, entry: os.DirEntry[str]) -> FileInfo | None:
        path = Path(entry.path).relative_to(self.path).as_posix()
        try:
            self.resolve(path)
            status = entry.stat()
        except (OSError, WanlabError):
            return None
        is_folder = entry.is_dir()
        size = 0 if is_folder else status.st_size
        return FileInfo(entry.name, path, is_folder, size, status.st_mtime)

    def read_bytes(self, path: str, max_bytes: int) -> bytes:
        """Return a whole file. WanlabError if it is larger than `max_bytes`."""
        try:
            with self.resolve(path).open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise WanlabError(f"cannot read {path}: {error.strerror or error}") from None
        if len(data) > max_bytes:
            raise WanlabError(f"{path} is larger than {max_bytes >> 20} MiB")
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file atomically: an old one stays until the new one is complete."""
        file = self.resolve(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, data)
        except OSError as error:
            raise WanlabError(f"cannot write {path}: {error.strerror or error}") from None

    @property
    def state_folder(self) -> Path:
        """The folder for wanlab's own state; created when it is needed."""
        folder = self.path / STATE_FOLDER
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise WanlabError(
                f"cannot write {folder}: {error.strerror}", "choose another folder with --folder"
            ) from None
        return folder

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


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file through a temporary one beside it, so that a half-written file is never read."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    number, name = tempfile.mkstemp(dir=path.parent, prefix=".wanlab-", suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
