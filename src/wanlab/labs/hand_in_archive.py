"""Reads a hand-in. The zip file comes from a student, so it may be anything.

Sizes are limited before anything is read, each and in sum:

* the file, and the zip's directory at its end, which lists the files in it;
* the manifest, which is decoded into a structure before anything acts on it;
* the sum of the sizes that the directory declares for the files of the manifest. Of each file, no more
  than its declared size is decompressed, so a directory that lies gains nothing.

Only files that the manifest lists are read, and none is written to disk: their names mean nothing here.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, BinaryIO

import msgspec

from wanlab.errors import WanlabError, reason_of
from wanlab.json_text import decode_json

from .hand_in import (
    MANIFEST,
    MAX_BYTES,
    MAX_FILES,
    MAX_HAND_IN_BYTES,
    MAX_SESSION_BYTES,
    SCRIPT,
    SESSIONS,
    SUFFIXES,
)

MAX_DIRECTORY_BYTES = 512 << 10
MAX_MANIFEST_BYTES = 512 << 10
MAX_REASON_CHARACTERS = 300
CHUNK_BYTES = 64 << 10
ENCRYPTED = 0x1
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The end of a zip file (APPNOTE.TXT, 4.3.16), without the comment that may follow it.
END = struct.Struct("<4s4H2LH")
END_SIGNATURE = b"PK\5\6"
ZIP64_SIGNATURE = b"PK\6\7"
ZIP64_LOCATOR_BYTES = 20
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    LookupError,
)
"""What `zipfile` raises for damaged files."""

Text = Annotated[str, msgspec.Meta(max_length=300)]


class Manifest(msgspec.Struct, frozen=True):
    """The content of manifest.json."""

    unit: Text
    seed: Annotated[int, msgspec.Meta(ge=0)]
    packed: Text
    wanlab: Text
    files: Annotated[dict[Text, Text], msgspec.Meta(max_length=MAX_FILES)]
    """The SHA-256 of each file."""


DECODER = msgspec.json.Decoder(Manifest)


class NotAHandInError(WanlabError):
    """A file that is not a hand-in."""


@dataclass(frozen=True)
class HandIn:
    """A hand-in that was read."""

    manifest: Manifest
    script: str
    suffix: str
    sessions: tuple[bytes, ...]
    """Contents of session files, the newest last."""
    is_intact: bool
    """Whether every file still has the digest that it was packed with."""


def read(path: Path) -> HandIn:
    """Read a hand-in that the user has named. Raises WanlabError if it is not one."""
    try:
        with path.open("rb") as file:
            return read_hand_in(file, str(path))
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {reason_of(error)}") from None


def read_hand_in(file: BinaryIO, source: str) -> HandIn:
    """Read a hand-in from an open regular file, which errors call `source`."""
    with _archive(file, source) as archive:
        manifest = archive.manifest()
        names = [name for name in archive.names() if name in manifest.files]
        if missing := manifest.files.keys() - set(names):
            raise ValueError(f"it lacks {min(missing)!a}")
        archive.check_sizes(names)
        scripts = [name for name in names if re.fullmatch(rf"{SCRIPT}(\.[^/]*)?", name)]
        if len(scripts) != 1:
            raise ValueError(f"it has {len(scripts) or 'no'} scripts")
        kept = {*scripts, *(name for name in names if name.startswith(f"{SESSIONS}/"))}
        digests, contents = {}, {}
        for name in names:
            digest, content = hashlib.sha256(), []
            for chunk in archive.chunks(name):
                digest.update(chunk)
                if name in kept:
                    content.append(chunk)
            digests[name], contents[name] = digest.hexdigest(), b"".join(content)
        (script,) = scripts
        suffix = PurePosixPath(script).suffix
        return HandIn(
            manifest=manifest,
            script=contents[script].decode("utf-8-sig"),
            suffix=suffix if suffix in SUFFIXES else SUFFIXES[0],
            sessions=tuple(contents[name] for name in names if name in kept - {script}),
            is_intact=digests == manifest.files,
        )


def read_unit(file: BinaryIO, source: str) -> str:
    """Return the name of the unit that a hand-in is for, which need not exist."""
    with _archive(file, source) as archive:
        return archive.manifest().unit


class _Archive:
    """The files in a zip file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        if len(self._entries) < len(archive.infolist()):
            raise ValueError("it has two files of the same name")

    def names(self) -> list[str]:
        """Return the names of all files, in the order in which they were packed."""
        return list(self._entries)

    def manifest(self) -> Manifest:
        entry = self._entries.get(MANIFEST)
        if entry is None:
            raise ValueError(f"it has no {MANIFEST}")
        if entry.file_size > MAX_MANIFEST_BYTES:
            raise ValueError(f"its {MANIFEST} is too large")
        return decode_json(b"".join(self.chunks(MANIFEST)), DECODER, MANIFEST)

    def check_sizes(self, names: list[str]) -> None:
        """Raise ValueError if files are larger than what `hand_in.pack` writes."""
        total = sessions = 0
        for name in names:
            size = self._entries[name].file_size
            is_session = name.startswith(f"{SESSIONS}/")
            sessions += size if is_session else 0
            total += size
            if not is_session and size > MAX_BYTES:
                raise ValueError(f"{name!a} is larger than {MAX_BYTES >> 20} MiB")
        if sessions > MAX_SESSION_BYTES:
            raise ValueError(f"its sessions have more than {MAX_SESSION_BYTES >> 20} MiB")
        if total > MAX_HAND_IN_BYTES:
            raise ValueError(f"its files have more than {MAX_HAND_IN_BYTES >> 20} MiB")

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file, which is not longer than its declared size."""
        entry = self._entries[name]
        if entry.flag_bits & ENCRYPTED:
            raise ValueError("it is protected with a password")
        if entry.compress_type not in METHODS:
            raise ValueError(f"{name!a} is compressed by method {entry.compress_type}")
        with self._archive.open(entry) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


@contextmanager
def _archive(file: BinaryIO, source: str) -> Iterator[_Archive]:
    """Open a zip file; whatever goes wrong with it becomes an error that names it."""
    try:
        _check_end(file)
        with zipfile.ZipFile(file) as archive:
            yield _Archive(archive)
    except WanlabError as error:
        raise _error(source, str(error)) from None
    except UnicodeDecodeError:
        raise _error(source, "its script, or the name of a file in it, is not UTF-8") from None
    except DAMAGED as error:
        raise _error(source, str(error) or "it is damaged") from None


def _check_end(file: BinaryIO) -> None:
    """Check the end of a zip file before its directory is read. Raises ValueError."""
    size = file.seek(0, os.SEEK_END)
    if size > MAX_HAND_IN_BYTES:
        raise ValueError(f"it is larger than {MAX_HAND_IN_BYTES >> 20} MiB")
    file.seek(max(0, size - END.size - ZIP64_LOCATOR_BYTES))
    tail = file.read(END.size + ZIP64_LOCATOR_BYTES)
    if len(tail) < END.size:
        raise ValueError("it is not a zip file")
    signature, *_, directory_bytes, _, comment_bytes = END.unpack(tail[-END.size :])
    if signature != END_SIGNATURE or comment_bytes:
        raise ValueError("it is not a zip file, or it was cut short, or it has a comment")
    if tail.startswith(ZIP64_SIGNATURE) and len(tail) > END.size:
        raise ValueError("it has the format for more than 4 GiB (zip64)")
    if directory_bytes > MAX_DIRECTORY_BYTES:
        raise ValueError("it has too many files")


def _error(source: str, reason: str) -> NotAHandInError:
    return NotAHandInError(
        f"{source} is not a hand-in: {reason[:MAX_REASON_CHARACTERS]}",
        "it is written by: wanlab lab hand-in UNIT",
    )
