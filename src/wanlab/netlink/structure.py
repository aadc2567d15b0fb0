"""Structures of C that the kernel sends, as text. `columns` turns many of them into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from wanlab.errors import PeerError

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s32": 4, "s64": 8}


@dataclass(frozen=True)
class Structure:
    """A structure of C as members in order: "u32 drops  s32 deficit_bytes  u32:flag is_dropping".

    A member whose name is "-" is skipped. A newer kernel may append members but never changes those
    that exist.
    """

    name: str
    fields: tuple[tuple[str, str], ...]
    """Name and type of each member."""
    members: tuple[tuple[str, str], ...]
    """Name and scale of each member that is kept."""

    @classmethod
    def of(cls, name: str, text: str) -> Structure:
        words = text.split()
        fields, members = [], []
        for number, (kind, member) in enumerate(zip(words[::2], words[1::2], strict=True)):
            kind, _, scale = kind.partition(":")
            fields.append((member if member != "-" else f"-{number}", kind))
            if member != "-":
                members.append((member, scale))
        return cls(name, tuple(fields), tuple(members))

    @cached_property
    def size(self) -> int:
        """The size in bytes."""
        return sum(SIZES[kind] for _, kind in self.fields)

    def check(self, part: bytes) -> None:
        """Raise PeerError if this is too short to be the structure."""
        if len(part) < self.size:
            raise PeerError(f"the kernel sent {len(part)} bytes of {self.name}: too few")

    def positions(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return the begin and end offsets in bytes of the named members that exist."""
        positions, start = [], 0
        for name, kind in self.fields:
            end = start + SIZES[kind]
            if name in names:
                positions.append((start, end))
            start = end
        return positions
