"""Drafts: what has not been saved is written down at every edit, so that no death of ours loses it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from .folder import write_whole
from .model import Document
from .protocol import DraftPush


class Draft(msgspec.Struct, frozen=True):
    """A document that was not saved, and the file that it is of."""

    document: Document
    path: str | None
    name: str
    saved_at_s: float

    def told(self) -> DraftPush:
        """What a browser is told of it."""
        return DraftPush(
            name=self.name or "untitled",
            nodes=len(self.document.nodes),
            saved_at_s=self.saved_at_s,
        )


class Drafts:
    """`offered` is what a server before us left; it stays on the disk until it is taken or refused."""

    def __init__(self, folder: Path) -> None:
        self._now = folder / "draft.json"
        self._offered = folder / "offered.json"
        if self._now.exists():
            if self._offered.exists():  # nobody has answered; it stays, for whoever misses it
                self._offered.replace(folder / f"draft-{time.time_ns()}.json")
            self._now.replace(self._offered)
        self.offered = _read(self._offered)

    def keep(self, document: Document, path: str | None, name: str) -> None:
        """Writes down what is not saved."""
        draft = Draft(document, path, name, time.time())
        write_whole(self._now, msgspec.json.encode(draft))

    def forget(self) -> None:
        """All is saved."""
        with contextlib.suppress(FileNotFoundError):
            self._now.unlink()

    def answer(self) -> Draft | None:
        """What was offered; it is not, any more."""
        draft, self.offered = self.offered, None
        with contextlib.suppress(FileNotFoundError):
            self._offered.unlink()
        return draft


def _read(path: Path) -> Draft | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Draft)
    except (OSError, msgspec.MsgspecError):
        return None
