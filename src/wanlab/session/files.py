"""Records the working folder at the start of a session, and restores it for a replay.

    {"file": "run.sh", "mode": 493, "mtime_ns": 1767225600000000000, "sha256": "..."}
    {"folder": ".", "mode": 493, "mtime_ns": ...}          the working folder itself
    {"folder": "results", "mode": 493, "mtime_ns": ...}
    {"link": "latest", "to": "results"}
    {"content": "<sha256>", "gzip": "<base64>"}       once for all files with this content

Either all files are recorded or none, because a replay with some of them would run in a folder that
never existed.
"""

from __future__ import annotations

import base64
import gzip
import io
import itertools
import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath

from wanlab.shared_folder import SharedFolder

from .lines import FolderLine, Line, digest

MAX_ENTRIES = 2000
MAX_BYTES = 32 << 20
SUFFIX = ".wanlab"
STATE_FOLDER = ".wanlab"
"""The folder in which `wanlab web` keeps its state, including the secret of its address."""
COMPRESSION = 1  # fast, because the machine waits meanwhile
PERMISSIONS = 0o7777
FILE_PERMISSIONS = 0o777
"""Permissions that restored files may have: a stranger's set-user-ID program must not become ours."""


class TooMuch(Exception):  # noqa: N818  (a reason, not an error)
    """The folder has more files or bytes than a session file may contain."""


def folder_lines(folder: SharedFolder) -> list[Line]:
    """Return the lines that describe a folder, parents first.

    The content of two kinds of files is left out: session files would contain each other, and wanlab's
    state contains secrets that must not get into a session file. TooMuch if the folder is too large,
    OSError if it cannot be read.
    """
    lines: list[Line] = []
    contents: dict[str, bytes] = {}
    total_bytes = 0
    for name, status in itertools.chain([(".", folder.path.stat())], folder.walk()):
        if len(lines) == MAX_ENTRIES:
            raise TooMuch(f"it has more than {MAX_ENTRIES} files and folders")
        if stat.S_ISLNK(status.st_mode):
            lines.append({"link": name, "to": folder.link_target(name)})
            continue
        about = {"mode": status.st_mode & PERMISSIONS, "mtime_ns": status.st_mtime_ns}
        if stat.S_ISDIR(status.st_mode):
            lines.append({"folder": name, **about})
        elif stat.S_ISREG(status.st_mode):
            path = PurePosixPath(name)
            is_left_out = path.suffix == SUFFIX or STATE_FOLDER in path.parts
            total_bytes += 0 if is_left_out else status.st_size
            if total_bytes > MAX_BYTES:
                raise TooMuch(f"its files have more than {MAX_BYTES >> 20} MiB")
            data = b"" if is_left_out else folder.read(name, MAX_BYTES)
            contents.setdefault(digest(data), data)
            lines.append({"file": name, **about, "sha256": digest(data)})
    return [*lines, *(_content_line(name, data) for name, data in contents.items())]


def upload_lines(folder: SharedFolder, name: str) -> list[Line]:
    """Return the lines that describe a file which was written during a session."""
    with folder.open(name) as file:
        status, data = os.fstat(file.fileno()), file.read()
    about = {"mode": status.st_mode & PERMISSIONS, "mtime_ns": status.st_mtime_ns}
    return [{"file": name, **about, "sha256": digest(data)}, _content_line(digest(data), data)]


def _content_line(name: str, data: bytes) -> Line:
    packed = base64.b64encode(gzip.compress(data, COMPRESSION, mtime=0)).decode()
    return {"content": name, "gzip": packed}


def restore(lines: Iterable[FolderLine], folder: SharedFolder) -> None:
    """Make the files that the lines describe, in an empty folder.

    ValueError if one is outside the folder, if its content is missing or has been changed, or if all
    have more than MAX_BYTES. OSError if one cannot be written.
    """
    lines = list(lines)
    contents = {line.content: line.gzip for line in lines if line.content and line.gzip}
    times: list[tuple[str, int, int]] = []
    total_bytes = 0
    for line in lines:
        if line.link:
            _check_inside(line.link)
            folder.make_link(line.link, line.to or "")
            continue
        name = line.file or line.folder
        if not name:
            continue
        _check_inside(name)
        if line.folder:
            folder.subfolder(name).make()
        else:
            data = _content(contents, line.sha256 or "")
            total_bytes += len(data)
            if total_bytes > MAX_BYTES:
                raise ValueError(f"its files have more than {MAX_BYTES >> 20} MiB")
            folder.write(name, data)
        permissions = PERMISSIONS if line.folder else FILE_PERMISSIONS
        times.append((name, (line.mode or 0) & permissions, line.mtime_ns or 0))
    for name, mode, mtime_ns in reversed(times):  # a folder after its content
        folder.set_status(name, mode, mtime_ns)


def _content(contents: dict[str, str], name: str) -> bytes:
    if name not in contents:
        raise ValueError(f"the content {name} is missing")
    packed = io.BytesIO(base64.b64decode(contents[name]))
    with gzip.GzipFile(fileobj=packed) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"the content {name} is too large")
    if digest(data) != name:
        raise ValueError(f"the content {name} has been changed")
    return data


def _check_inside(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"the file {name} lies outside of the working folder")
