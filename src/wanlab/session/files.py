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
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from .lines import Line, digest

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


def folder_lines(folder: Path) -> list[Line]:
    """Return the lines that describe a folder, parents first.

    The content of two kinds of files is left out: session files would contain each other, and wanlab's
    state contains secrets that must not get into a session file. TooMuch if the folder is too large,
    OSError if it cannot be read.
    """
    lines: list[Line] = []
    contents: dict[str, bytes] = {}
    total_bytes = 0
    for path in _walk(folder):
        if len(lines) == MAX_ENTRIES:
            raise TooMuch(f"it has more than {MAX_ENTRIES} files and folders")
        relative_path = path.relative_to(folder)
        name = str(relative_path)
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            lines.append({"link": name, "to": str(path.readlink())})
            continue
        about = {"mode": status.st_mode & PERMISSIONS, "mtime_ns": status.st_mtime_ns}
        if stat.S_ISDIR(status.st_mode):
            lines.append({"folder": name, **about})
        elif stat.S_ISREG(status.st_mode):
            is_left_out = path.suffix == SUFFIX or STATE_FOLDER in relative_path.parts
            total_bytes += 0 if is_left_out else status.st_size
            if total_bytes > MAX_BYTES:
                raise TooMuch(f"its files have more than {MAX_BYTES >> 20} MiB")
            data = b"" if is_left_out else path.read_bytes()
            contents.setdefault(digest(data), data)
            lines.append({"file": name, **about, "sha256": digest(data)})
    return [*lines, *(_content_line(name, data) for name, data in contents.items())]


def upload_lines(folder: Path, file: Path) -> list[Line]:
    """Return the lines that describe a file which was written during a session.

    ValueError if it is not in the folder.
    """
    name, status, data = str(file.relative_to(folder)), file.stat(), file.read_bytes()
    about = {"mode": status.st_mode & PERMISSIONS, "mtime_ns": status.st_mtime_ns}
    return [{"file": name, **about, "sha256": digest(data)}, _content_line(digest(data), data)]


def _content_line(name: str, data: bytes) -> Line:
    packed = base64.b64encode(gzip.compress(data, COMPRESSION, mtime=0)).decode()
    return {"content": name, "gzip": packed}


def _walk(folder: Path) -> Iterator[Path]:
    yield folder
    yield from _content_of(folder)


def _content_of(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in names:
        yield folder / name
        if is_folder:
            yield from _content_of(folder / name)


def restore(lines: Iterable[Line], folder: Path) -> None:
    """Make the files that the lines describe, in an empty folder.

    ValueError if one is outside the folder, or if its content is missing or has been changed.
    """
    lines = list(lines)
    contents = {str(line["content"]): line["gzip"] for line in lines if "content" in line}
    times: list[tuple[Path, int, int]] = []
    for line in lines:
        kind = next((kind for kind in ("file", "folder", "link") if kind in line), None)
        if kind is None:
            continue
        path = _inside(folder, str(line[kind]))
        if kind == "link":
            path.symlink_to(str(line["to"]))
            continue
        if path.is_symlink():
            raise ValueError(f"the file {line[kind]} is a link as well")
        permissions = PERMISSIONS if kind == "folder" else FILE_PERMISSIONS
        if kind == "folder":
            path.mkdir(exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_content(contents, str(line["sha256"])))
        times.append((path, int(line["mode"]) & permissions, int(line["mtime_ns"])))
    for path, mode, mtime_ns in reversed(times):  # a folder after its content
        path.chmod(mode)
        os.utime(path, ns=(mtime_ns, mtime_ns))


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


def _inside(folder: Path, name: str) -> Path:
    if name == ".":
        return folder
    path = folder / name
    parent = path.parent.resolve()
    if ".." in Path(name).parts or not (parent == folder or parent.is_relative_to(folder)):
        raise ValueError(f"the file {name} lies outside of the working folder")
    return path
