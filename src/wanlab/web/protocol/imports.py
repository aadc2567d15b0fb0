"""The protocol of imports: parts of another program's topology without a counterpart."""

from __future__ import annotations

import msgspec


class ImportNote(msgspec.Struct, frozen=True):
    """A part without a counterpart, its place, and what to do about it."""

    place: str
    what: str
    hint: str = ""


class ImportedFile(msgspec.Struct, frozen=True):
    """The reply to "open" for a topology of another program."""

    program: str
    notes: tuple[ImportNote, ...]


REST = (ImportNote, ImportedFile)
