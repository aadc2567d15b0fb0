"""The units of the course, in the manual's order, and their names: 6, ex3, prob1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from wanlab.errors import WanlabError, did_you_mean

from .unit import KINDS, Unit
from .unit_file import read

ALL = "all"
COURSE = Path(__file__).parent / "units"
FOLDERS = {"lab": "lab{:02}", "exercise": "exercise{}", "problem": "problem{}"}
ORDER = (
    "1",
    "ex1",
    "2",
    "3",
    "4",
    "5",
    "ex2",
    "prob1",
    "6",
    "7",
    "8",
    "ex3",
    "ex4",
    "9",
    "ex5",
    "prob2",
    "10",
    "ex6",
    "prob3",
    "11",
    "12",
    "ex7",
    "13",
    "14",
    "ex8",
    "15",
    "16",
    "17",
    "18",
    "19",
    "20",
)
_KIND_OF_PREFIX = {prefix: kind for kind, prefix in KINDS.items()}


def folder_of(name: str, course: Path = COURSE) -> Path:
    """Return the folder of a unit, which need not exist. Raises WanlabError for an unknown name."""
    match = re.fullmatch(r"([a-z]*?)[ _-]*0*(\d+)", name.strip().lower())
    word = (match[1] or "lab") if match else ""
    kind = _KIND_OF_PREFIX.get(word) or (word if word in KINDS else None)
    if match is None or kind is None:
        raise WanlabError(
            f"there is no unit {name!r}",
            "units are called 6, ex3 or prob1, for example; see: wanlab lab list",
        )
    return course / FOLDERS[kind].format(int(match[2]))


def names(course: Path | None = None) -> Iterator[str]:
    """Yield the names of all units that have a lab.yaml, in the manual's order.

    The units of a teacher's folder, `course`, are sorted by name.
    """
    if course is not None:
        yield from sorted(path.parent.name for path in course.glob("*/lab.yaml"))
        return
    for name in ORDER:
        if (folder_of(name) / "lab.yaml").is_file():
            yield name


def find(name: str, course: Path | None = None) -> Unit:
    """Return the unit of a name. Raises WanlabError if there is none.

    `course` is a teacher's folder of units; a unit there is named after its folder.
    """
    if course is not None:
        return _find_in(name, course.resolve())
    folder = folder_of(name)
    if not (folder / "lab.yaml").is_file():
        raise WanlabError(f"there is no unit {name} here", did_you_mean(name, names()))
    return _read(folder)


def expanded(chosen: Sequence[str]) -> list[str]:
    """Return these names of units, each once; ALL stands for the whole course."""
    for name in chosen:
        if name != ALL:
            find(name)
    return [*names()] if ALL in chosen else [*dict.fromkeys(chosen)]


def _find_in(name: str, course: Path) -> Unit:
    known = list(names(course))
    if not known:
        raise WanlabError(
            f"there is no unit in {course}",
            "a unit is a folder with a lab.yaml; create one: wanlab lab new NAME",
        )
    if name not in known:
        raise WanlabError(f"there is no unit {name} in {course}", did_you_mean(name, known))
    return read(course / name, own_name=name)


def with_labs(unit: Unit) -> Iterator[Unit]:
    """Yield a unit and all other labs: the course's machine has the topologies of all labs."""
    yield unit
    for name in names():
        try:
            other = find(name)
        except WanlabError:  # a mistake in another unit does not matter here
            continue
        if other.kind == "lab" and other.name != unit.name:
            yield other


@cache
def _read(folder: Path) -> Unit:
    return read(folder)
