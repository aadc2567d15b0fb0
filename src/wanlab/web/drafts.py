"""Drafts: unsaved work is written to disk at every edit, so that it survives a crash."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from .folder import write_atomically
from .model import Document
from .protocol import DraftPush


class Draft(msgspec.Struct, frozen=True):
    """A document that was not saved, and the file that it belongs to."""

    document: Document
    path: str | None
    name: str
    saved_at_s: float

    def snapshot(self) -> DraftPush:
        """Return the state of the draft that browsers receive."""
        return DraftPush(
            name=self.name or "untitled",
            nodes=len(self.document.nodes),
            saved_at_s=self.saved_at_s,
        )


class Drafts:
    """Keeps the draft of this server. `offered` is the draft that an earlier server left.

    It stays on disk until it is restored or discarded.
    """

    def __init__(self, folder: Path) -> None:
        self._current = folder / "draft.json"
        self._offered = folder / "offered.json"
        if self._current.exists():
            # A draft that was neither restored nor discarded is kept in case it is needed.
            if self._offered.exists():
                self._offered.replace(folder / f"draft-{time.time_ns()}.json")
            self._current.replace(self._offered)
        self.offered = _read(self._offered)

    def keep(self, document: Document, path: str | None, name: str) -> None:
        """Write the unsaved document to disk."""
        draft = Draft(document, path, name, time.time())
        write_atomically(self._current, msgspec.json.encode(draft))

    def forget(self) -> None:
        """Delete the draft, since everything is saved."""
        with contextlib.suppress(FileNotFoundError):
            self._current.unlink()

    def close_offer(self) -> Draft | None:
        """Stop offering the earlier draft, and return it."""
        draft, self.offered = self.offered, None
        with contextlib.suppress(FileNotFoundError):
            self._offered.unlink()
        return draft


def _read(path: Path) -> Draft | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Draft)
    except (OSError, msgspec.MsgspecError):
        return None
