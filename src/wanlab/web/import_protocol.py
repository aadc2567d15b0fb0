"""The protocol of imports: what of another program's topology did not map."""

from __future__ import annotations

import msgspec


class ImportNote(msgspec.Struct, frozen=True):
    """What did not map, where, and what to do about it."""

    place: str
    what: str
    hint: str = ""


class ImportedFile(msgspec.Struct, frozen=True):
    """The reply to "open" for a topology of another program."""

    program: str
    notes: tuple[ImportNote, ...]


REST = (ImportNote, ImportedFile)
