"""The units that are here, in the manual's order, and how they are called: 6, ex3, prob1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from wanlab.errors import WanlabError, did_you_mean

from .unit import KINDS, Unit
from .unit_file import read

COURSE = Path(__file__).parent
FOLDERS = {"lab": "lab{:02}", "exercise": "exercise{}", "problem": "problem{}"}
ORDER = (
    *("1", "ex1", "2", "3", "4", "5", "ex2", "prob1", "6", "7", "8", "ex3", "ex4", "9", "ex5"),
    *("prob2", "10", "ex6", "prob3", "11", "12", "ex7", "13", "14", "ex8", "15", "16", "17", "18"),
    *("19", "20"),
)
_SHORT = {short: kind for kind, short in KINDS.items()}


def folder_of(name: str, course: Path = COURSE) -> Path:
    """Where a unit is, or would be. WanlabError if it is none of the course's names."""
    found = re.fullmatch(r"([a-z]*?)[ _-]*0*(\d+)", name.strip().lower())
    word = found[1] or "lab" if found else ""
    kind = _SHORT.get(word) or (word if word in KINDS else None)
    if found is None or kind is None:
        raise WanlabError(
            f"there is no unit {name!r}", "as in 6, ex3 or prob1; see: wanlab lab list"
        )
    return course / FOLDERS[kind].format(int(found[2]))


def names(course: Path = COURSE) -> Iterator[str]:
    """Of all units that are here."""
    for name in ORDER:
        if (folder_of(name, course) / "lab.yaml").is_file():
            yield name


def find(name: str, course: Path = COURSE) -> Unit:
    """The unit of that name."""
    folder = folder_of(name, course)
    if not (folder / "lab.yaml").is_file():
        raise WanlabError(f"there is no unit {name} here", did_you_mean(name, names(course)))
    return _read(folder)


def with_labs(unit: Unit) -> Iterator[Unit]:
    """A unit, and all other labs: their topologies lie there, as on the course's machine."""
    yield unit
    for name in names():
        try:
            other = find(name)
        except WanlabError:  # another unit's mistake is not this one's
            continue
        if other.kind == "lab" and other.name != unit.name:
            yield other


@cache
def _read(folder: Path) -> Unit:
    return read(folder)
