"""Temporary folders that `wanlab clean` can remove if their program is killed.

Before a folder is made, a note of it is written beside the notes of machines:

    {"owner": [pid, start], "folder": "/tmp/wanlab-check-x7k2m9qa", "system": "..."}

A note is stale when the folder's owner, a process, has ended. A folder without a note is never removed,
whatever its name.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .process_identity import ProcessNote, note_folders, start_time, system_id

SUFFIX = ".folder"
PREFIX = "wanlab-"


class TemporaryFolder:
    """A new empty folder, `path`.

    It is removed by `remove`, at the end of its `with` block, or when this object is garbage-collected.
    """

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        """`kind` is a word of its name, wanlab-KIND-x7k2m9qa. It is made in `parent`, or TMPDIR."""
        while True:
            name = f"{PREFIX}{kind}-{secrets.token_hex(4)}"
            self.path = Path(parent or tempfile.gettempdir(), name)
            self._note = _write_note(self.path)
            try:
                self.path.mkdir(mode=0o700)
            except FileExistsError:
                _unlink(self._note)
                continue
            except OSError:
                _unlink(self._note)
                raise
            break
        self._end = weakref.finalize(self, _remove, self.path, self._note, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder and its content; a second call does nothing."""
        self._end()

    def keep(self) -> None:
        """Do not remove the folder: it belongs to the user from now on."""
        if self._end.detach() is not None:
            _unlink(self._note)


@dataclass(frozen=True)
class FolderNote:
    """The note of a temporary folder, as read from `file`."""

    file: Path
    folder: Path
    owner: ProcessNote

    @property
    def is_stale(self) -> bool:
        return not self.owner.is_running()

    @property
    def has_folder(self) -> bool:
        """Whether the folder exists and belongs to this user."""
        try:
            status = self.folder.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()

    def clean(self) -> None:
        """Remove the folder and the note."""
        if self.has_folder:
            _remove_tree(self.folder)
        _unlink(self.file)


def folder_notes() -> Iterator[FolderNote]:
    """Yield the notes of temporary folders on this system, including those of other processes."""
    this_system = system_id()
    for folder in note_folders():
        for file in sorted(folder.glob(f"*{SUFFIX}")):
            try:
                content = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError):  # not completely written
                continue
            match content:
                case {
                    "system": str(system),
                    "owner": [int(owner), int(start)],
                    "folder": str(path),
                } if system == this_system and Path(path).name.startswith(PREFIX):
                    yield FolderNote(file, Path(path), ProcessNote(owner, start))


def _write_note(path: Path) -> Path | None:
    """Write the note of a folder of this process, and return its file; None if that fails."""
    owner = [os.getpid(), start_time(os.getpid())]
    text = json.dumps({"owner": owner, "folder": str(path), "system": system_id()})
    try:
        folder = note_folders()[0]
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{path.name}{SUFFIX}"
        file.write_text(text, encoding="utf-8")
    except OSError:  # the program should run even if the home folder cannot be written
        return None
    return file


def _remove(path: Path, note: Path | None, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not remove its parent's folder
        _remove_tree(path)
        _unlink(note)


def _remove_tree(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if not path.exists():
        return
    # A folder inside may lack the permissions that its removal needs.
    for folder, folders, _ in os.walk(path):
        for name in ("", *folders):
            inner = Path(folder, name)
            with suppress(OSError):
                if not inner.is_symlink():
                    inner.chmod(stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def _unlink(file: Path | None) -> None:
    if file is not None:
        with suppress(OSError):
            file.unlink()
