"""The base of everything that the server sends to all browsers without being asked."""

from __future__ import annotations

import msgspec


class Push(msgspec.Struct, frozen=True, tag_field="push", kw_only=True):
    """What the server sends to all browsers without being asked."""
