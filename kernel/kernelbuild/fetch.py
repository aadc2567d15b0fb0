"""The kernel's source out of Debian's package of it, for computers whose package manager has no such.

A package is an `ar` archive that holds a tar archive of its files (deb(5)); both are unpacked while
they arrive. What has come is taken for its hash, not for where it comes from.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.response import addinfourl

from .errors import BuildError
from .progress import Progress
from .recipe import Archive, Recipe

_PATIENCE_S = 30
_PIECE_BYTES = 1 << 20
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER_BYTES = 60


def fetch(url: str, folder: Path, member: str, recipe: Recipe, progress: Progress) -> Path:
    """Puts the file named `member` of the package at `url` into a folder, if the recipe knows it.

    Not two at once for one folder.
    """
    progress.phase(f"fetching {url}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _opened(url, progress) as package:
            return _store(package, member, recipe, folder)
    except (OSError, ValueError, http.client.HTTPException, tarfile.TarError, BuildError) as error:
        raise BuildError("the kernel's source cannot be fetched", f"{url}: {error}") from None


def path_of(archive: Archive, folder: Path) -> Path:
    """Where a fetched archive is."""
    return folder / f"{archive.sha256[:16]}.tar.xz"


class _Arriving:
    """A response that shows how much of it has come."""

    def __init__(self, response: addinfourl, progress: Progress) -> None:
        self._response = response
        self._progress = progress
        self._total_bytes = int(response.headers["Content-Length"] or 0)
        self._come_bytes = 0

    def read(self, size: int) -> bytes:
        data: bytes = self._response.read(size)
        self._come_bytes += len(data)
        if self._total_bytes:
            self._progress.share("fetching", self._come_bytes / self._total_bytes)
        return data


@contextlib.contextmanager
def _opened(url: str, progress: Progress) -> Iterator[_Arriving]:
    with urllib.request.urlopen(url, timeout=_PATIENCE_S) as response:
        yield _Arriving(response, progress)


def _store(package: _Arriving, member: str, recipe: Recipe, folder: Path) -> Path:
    """Whole and known, or not at all. What a kill has left is written over."""
    _skip_to_files(package)
    part = folder / "part"
    try:
        with tarfile.open(fileobj=package, mode="r|*") as files, part.open("wb") as file:  # type: ignore[call-overload]
            sha256 = _copy(_member(files, member), file)
        archive = recipe.archive(sha256)
        if archive is None:
            raise BuildError(f"{member} in it has another hash than the recipe says: {sha256}")
        return part.replace(path_of(archive, folder))
    finally:
        part.unlink(missing_ok=True)


def _skip_to_files(package: _Arriving) -> None:
    """To the beginning of the tar archive of files, the last member of a package."""
    if package.read(len(_AR_MAGIC)) != _AR_MAGIC:
        raise BuildError("this is no Debian package")
    while header := package.read(_AR_HEADER_BYTES):
        name, size = header[:16].decode("latin-1").strip().rstrip("/"), header[48:58]
        if name.startswith("data.tar"):
            return
        size_bytes = int(size)
        package.read(size_bytes + size_bytes % 2)
    raise BuildError("this Debian package holds no files")


def _member(files: tarfile.TarFile, name: str) -> IO[bytes]:
    for info in files:
        if info.isfile() and PurePosixPath(info.name).name == name:
            member = files.extractfile(info)
            assert member is not None
            return member
    raise BuildError(f"there is no {name} in it")


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Its sha256."""
    digest = hashlib.sha256()
    while piece := source.read(_PIECE_BYTES):
        digest.update(piece)
        target.write(piece)
    return digest.hexdigest()
