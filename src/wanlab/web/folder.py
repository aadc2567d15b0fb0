"""The working folder: all that a browser may see and change of the disk.

A path comes from outside as text. It is taken apart, refused if it could mean something else, put
below the folder, and resolved; what then lies elsewhere (a link to it, `..`) is refused. A name that
begins with a point is not shown, and not served: our own notes are there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from wanlab.errors import WanlabError

from .protocol import FileInfo, Folder

OURS = ".wanlab"
"""Drafts and progress."""
MOST_FILES = 2000
LARGEST_UPLOAD_BYTES = 16 << 20
LARGEST_TOPOLOGY_BYTES = 4 << 20


class OutsideError(WanlabError):
    """A path that is not in the working folder."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is not a path in the working folder")


class WorkingFolder:
    """Paths are relative to it, with slashes: "results/a.pdf"."""

    def __init__(self, place: Path) -> None:
        self.place = place.resolve(strict=True)
        if not self.place.is_dir():
            raise WanlabError(f"{place} is not a folder", "name one with --folder")

    def resolve(self, path: str) -> Path:
        """Where that is on the disk. OutsideError if it is not below the folder."""
        parts = path.split("/")
        for part in parts:
            if part in ("", ".", "..") or part.startswith(".") or "\\" in part:
                raise OutsideError(path)
            if not part.isprintable() or "\ufffd" in part:
                raise OutsideError(path)
        place = self.place.joinpath(*parts)
        try:
            real = place.resolve()
        except (OSError, RuntimeError):
            raise OutsideError(path) from None
        if not real.is_relative_to(self.place) or self._is_hidden(real):
            raise OutsideError(path)
        return real

    def _is_hidden(self, real: Path) -> bool:
        """A link may lead to what is hidden."""
        return any(part.startswith(".") for part in real.relative_to(self.place).parts)

    def path_of(self, place: Path) -> str:
        """The path of something in here."""
        return place.relative_to(self.place).as_posix()

    def list(self, under: str = "") -> Folder:
        """What is in a folder: folders first, then files, by name."""
        place = self.resolve(under.strip("/")) if under.strip("/") else self.place
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name.casefold())
        except OSError as error:
            raise WanlabError(f"cannot list {under or '.'}: {error.strerror or error}") from None
        files = [info for entry in entries[:MOST_FILES] if (info := self._info(entry))]
        files.sort(key=lambda info: not info.is_folder)
        return Folder(self.path_of(place) if place != self.place else "", tuple(files))

    def _info(self, entry: os.DirEntry[str]) -> FileInfo | None:
        path = Path(entry.path).relative_to(self.place).as_posix()
        try:
            self.resolve(path)
            about = entry.stat()
        except (OSError, WanlabError):
            return None
        is_folder = entry.is_dir()
        size = 0 if is_folder else about.st_size
        return FileInfo(entry.name, path, is_folder, size, about.st_mtime)

    def read_bytes(self, path: str, most: int) -> bytes:
        """A whole file, if it is not too large."""
        place = self.resolve(path)
        try:
            with place.open("rb") as file:
                data = file.read(most + 1)
        except OSError as error:
            raise WanlabError(f"cannot read {path}: {error.strerror or error}") from None
        if len(data) > most:
            raise WanlabError(f"{path} is larger than {most >> 20} MiB")
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """All of it or nothing: a file that was there stays until the new one is whole."""
        place = self.resolve(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, data)
        except OSError as error:
            raise WanlabError(f"cannot write {path}: {error.strerror or error}") from None

    @property
    def ours(self) -> Path:
        """Where our own notes are; made when it is needed."""
        place = self.place / OURS
        place.mkdir(exist_ok=True)
        return place

    def walk(self, most: int) -> Iterator[tuple[str, int]]:
        """Files with the instant of their last change, so many at most."""
        left = most
        for folder, folders, names in os.walk(self.place):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                if name.startswith("."):
                    continue
                left -= 1
                if left < 0:
                    return
                place = Path(folder, name)
                with contextlib.suppress(OSError):
                    yield self.path_of(place), place.lstat().st_mtime_ns


def write_whole(place: Path, data: bytes) -> None:
    """Through a file beside it, so that nobody ever sees half of it."""
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o644
    number, name = tempfile.mkstemp(dir=place.parent, prefix=".wanlab-", suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
