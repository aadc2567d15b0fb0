"""Drafts: unsaved work is written to disk at every edit, so that it survives a crash."""

from __future__ import annotations

import contextlib
import time

import msgspec

from wanlab.errors import WanlabError
from wanlab.json_text import decode_json
from wanlab.shared_folder import SharedFolder

from ..protocol.messages import DraftPush
from ..protocol.model import Document

CURRENT, OFFERED, OPEN = "draft.json", "offered.json", "open"


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


DRAFT = msgspec.json.Decoder(Draft)


class Drafts:
    """Keeps the draft of this server. `offered` is the draft that an earlier server left.

    It stays on disk until it is restored or discarded.
    """

    def __init__(self, folder: SharedFolder) -> None:
        self._folder = folder
        if folder.exists(CURRENT):
            # A draft that was neither restored nor discarded is kept in case it is needed.
            if folder.exists(OFFERED):
                folder.rename(OFFERED, f"draft-{time.time_ns()}.json")
            folder.rename(CURRENT, OFFERED)
        self.offered = _read(folder)

    def keep(self, document: Document, path: str | None, name: str) -> None:
        """Write the unsaved document to disk."""
        draft = Draft(document, path, name, time.time())
        self._folder.write(CURRENT, msgspec.json.encode(draft), syncs=True)

    def note_open(self, path: str | None) -> None:
        """Remember which file is open; None if the document has none."""
        with contextlib.suppress(OSError):  # it is only a convenience
            self._folder.write(OPEN, (path or "").encode())

    def last_open(self) -> str:
        """Return the path of the file that an earlier server had open; "" if there was none."""
        try:
            return self._folder.read(OPEN).decode()
        except (OSError, UnicodeDecodeError):
            return ""

    def forget(self) -> None:
        """Delete the draft, since everything is saved."""
        with contextlib.suppress(FileNotFoundError):
            self._folder.remove(CURRENT)

    def close_offer(self) -> Draft | None:
        """Stop offering the earlier draft, and return it."""
        draft, self.offered = self.offered, None
        with contextlib.suppress(FileNotFoundError):
            self._folder.remove(OFFERED)
        return draft


def _read(folder: SharedFolder) -> Draft | None:
    try:
        return decode_json(folder.read(OFFERED), DRAFT)
    except (OSError, WanlabError):
        return None
