"""Survivors that are known, each with the reason why no test can or need notice it (accepted.toml).

Most are *equivalent*: no test could tell the mutant from the code. The file must stay true: an entry
that matches no mutant is reported.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .mutants import Mutant

FILE = Path(__file__).with_name("accepted.toml")


@dataclass(frozen=True)
class Accepted:
    """One entry: mutants of a function, by their text, and the reason."""

    path: str
    scope: str
    before: str
    after: str
    why: str

    def matches(self, mutant: Mutant) -> bool:
        place = mutant.path, mutant.scope, mutant.before
        return place == (self.path, self.scope, self.before) and self.after in ("*", mutant.after)


def read(file: Path = FILE) -> list[Accepted]:
    """Return the entries of the file; `after = "*"` stands for all mutants of a line."""
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return [Accepted(**entry) for entry in data.get("mutant", ())]


def stale(entries: Sequence[Accepted], mutants: Sequence[Mutant]) -> list[Accepted]:
    """Return the entries that match none of the mutants."""
    return [entry for entry in entries if not any(map(entry.matches, mutants))]
