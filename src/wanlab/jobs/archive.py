"""Files as one byte string that travels: a tar file, the same bytes for the same files."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from wanlab.errors import WanlabError


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return files (path: content) as a tar file."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    """Return the files of a tar file (path: content)."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {
            entry.name: opened.read()
            for entry in archive.getmembers()
            if (opened := archive.extractfile(entry))
        }


def unpack(data: bytes, folder: Path) -> Path:
    """Write the files of a tar file below the folder, and return the folder.

    Raises WanlabError for a path that leads out of it.
    """
    for name, content in read(data).items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise WanlabError(f"{name!r} would be written outside {folder}")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder
