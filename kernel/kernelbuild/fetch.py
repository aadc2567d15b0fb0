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
from .recipe import Archive

_PATIENCE_S = 30
_PIECE_BYTES = 1 << 20
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER_BYTES = 60


def fetch(archive: Archive, path: Path, member: str, progress: Progress) -> None:
    """Puts the file named `member` of the archive's package at `path`, if it has the archive's hash.

    Not two at once for one path.
    """
    problems = []
    path.parent.mkdir(parents=True, exist_ok=True)
    for url in archive.packages:
        progress.phase(f"fetching {url}")
        try:
            with _opened(url, progress) as package:
                _store(package, member, archive.sha256, path)
            return
        except (OSError, http.client.HTTPException, tarfile.TarError, BuildError) as error:
            problems.append(f"{url}: {error}")
    raise BuildError("the kernel's source cannot be fetched", "\n".join(problems))


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


def _store(package: _Arriving, member: str, sha256: str, path: Path) -> None:
    """Whole and right, or not at all. What a kill has left is written over."""
    _skip_to_files(package)
    part = path.with_name(f"{path.name}.part")
    try:
        with tarfile.open(fileobj=package, mode="r|*") as files, part.open("wb") as file:  # type: ignore[call-overload]
            found = _copy(_member(files, member), file)
        if found != sha256:
            raise BuildError(f"{member} in it has another hash than the recipe says: {found}")
        part.replace(path)
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
