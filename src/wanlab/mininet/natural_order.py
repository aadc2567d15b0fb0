"""The order in which people sort names: h2 before h10."""

from __future__ import annotations

import re
from collections.abc import Iterable


def natural(text: object) -> list[tuple[bool, int | str]]:
    """Return a sort key that puts h2 before h10."""
    parts = re.split(r"(\d+)", str(text))
    return [(False, int(part)) if part.isdecimal() else (True, part) for part in parts if part]


def naturalSeq(t: Iterable[object]) -> list[list[tuple[bool, int | str]]]:
    return [natural(text) for text in t]
