"""Files that travel as one piece of bytes, in a tar file. The same files, the same bytes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from wanlab.errors import WanlabError


def pack(files: Mapping[str, bytes]) -> bytes:
    """Files by their paths."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    """What `pack` was given."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {
            entry.name: opened.read()
            for entry in archive.getmembers()
            if (opened := archive.extractfile(entry))
        }


def unpack(data: bytes, folder: Path) -> Path:
    """Writes them, all of them below the folder; returns it."""
    for name, content in read(data).items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise WanlabError(f"{name!r} would be written outside of {folder}")
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder
