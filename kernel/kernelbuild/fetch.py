"""Fetch the kernel's source from Debian's package, for computers whose package manager lacks it.

A package is an `ar` archive that contains a tar archive of its files (deb(5)); both are unpacked
while they arrive. A source is accepted by its hash, not by its origin.
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
    """Put the file `member` of the package at `url` into a folder, if the recipe knows its hash.

    Do not run two fetches into one folder at once.
    """
    progress.phase(f"fetching {url}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _opened(url, progress) as package:
            return _store(package, member, recipe, folder)
    except (OSError, ValueError, http.client.HTTPException, tarfile.TarError, BuildError) as error:
        raise BuildError("the kernel's source cannot be fetched", f"{url}: {error}") from None


def unpack_package(package: Path, folder: Path, member: str, recipe: Recipe) -> Path:
    """Put the file `member` of a package's file into a folder, if the recipe knows its hash."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with package.open("rb") as stream:
            return _store(stream, member, recipe, folder)
    except (OSError, ValueError, tarfile.TarError) as error:
        raise BuildError(
            f"{package.name} is not a package of the kernel's source: {error}"
        ) from None


def path_of(archive: Archive, folder: Path) -> Path:
    """Return the path of a fetched archive."""
    return folder / f"{archive.sha256[:16]}.tar.xz"


class _Download:
    """A response that shows which fraction of it has arrived."""

    def __init__(self, response: addinfourl, progress: Progress) -> None:
        self._response = response
        self._progress = progress
        self._total_bytes = int(response.headers["Content-Length"] or 0)
        self._received_bytes = 0

    def read(self, size: int) -> bytes:
        data: bytes = self._response.read(size)
        self._received_bytes += len(data)
        if self._total_bytes:
            self._progress.share("fetching", self._received_bytes / self._total_bytes)
        return data


@contextlib.contextmanager
def _opened(url: str, progress: Progress) -> Iterator[_Download]:
    with urllib.request.urlopen(url, timeout=_PATIENCE_S) as response:
        yield _Download(response, progress)


def _store(package: _Download | IO[bytes], member: str, recipe: Recipe, folder: Path) -> Path:
    """Store the archive if it is complete and known; overwrite the remains of a killed fetch."""
    _skip_to_files(package)
    part = folder / "part"
    try:
        with tarfile.open(fileobj=package, mode="r|*") as files, part.open("wb") as file:  # type: ignore[call-overload]
            sha256 = _copy(_member(files, member), file)
        archive = recipe.archive(sha256)
        if archive is None:
            raise BuildError(f"the recipe does not list the hash of {member}: {sha256}")
        return part.replace(path_of(archive, folder))
    finally:
        part.unlink(missing_ok=True)


def _skip_to_files(package: _Download | IO[bytes]) -> None:
    """Skip to the beginning of the tar archive of files, the last member of a package."""
    if package.read(len(_AR_MAGIC)) != _AR_MAGIC:
        raise BuildError("this is not a Debian package")
    while header := package.read(_AR_HEADER_BYTES):
        name, size = header[:16].decode("latin-1").strip().rstrip("/"), header[48:58]
        if name.startswith("data.tar"):
            return
        size_bytes = int(size)
        package.read(size_bytes + size_bytes % 2)
    raise BuildError("this Debian package contains no files")


def _member(files: tarfile.TarFile, name: str) -> IO[bytes]:
    for info in files:
        if info.isfile() and PurePosixPath(info.name).name == name:
            member = files.extractfile(info)
            assert member is not None
            return member
    raise BuildError(f"this package contains no {name}")


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy source to target and return the SHA-256."""
    digest = hashlib.sha256()
    while piece := source.read(_PIECE_BYTES):
        digest.update(piece)
        target.write(piece)
    return digest.hexdigest()
