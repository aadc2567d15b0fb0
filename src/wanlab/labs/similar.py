"""Finds equal and nearly equal submissions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from wanlab.session import SessionIdentity

NEARLY = 0.9
EQUAL = "equal"
SAME_SESSION = "the same session file"
EQUAL_SESSION = "the same was typed at the same instants"
MIN_LINES = 3
"""Shorter scripts are alike by chance, unless they are equal."""


@dataclass(frozen=True)
class Pair:
    """Two students whose submissions for a unit are alike. A likeness of 1 means equal."""

    unit: str
    first: str
    second: str
    likeness: float
    session: str = ""
    """How their sessions are alike, if they are."""

    @property
    def text(self) -> str:
        likeness = EQUAL if self.likeness == 1 else f"{self.likeness:.0%} alike"
        return "; ".join(filter(None, [likeness if self.likeness else "", self.session]))


def normalized(script: str) -> list[str]:
    """Return the lines of a script without comments, blank lines and redundant white space."""
    lines = (re.sub(r"(^|\s)#.*", "", line) for line in script.splitlines())
    return [" ".join(line.split()) for line in lines if line.strip()]


def pairs(unit: str, scripts: Mapping[str, str]) -> list[Pair]:
    """Return the pairs of students whose scripts are alike, the most alike first."""
    lines = {student: normalized(script) for student, script in scripts.items()}
    alike = []
    for first, second in combinations(sorted(lines), 2):
        likeness = _likeness(lines[first], lines[second])
        if likeness >= NEARLY:
            alike.append(Pair(unit, first, second, likeness))
    return sorted(alike, key=lambda pair: (-pair.likeness, pair.first, pair.second))


def summary(alike: Sequence[Pair]) -> list[str]:
    """Return a line for each pair.

    Students whose scripts are all equal share a line, because 20 equal hand-ins are 190 pairs.
    """
    lines, groups = [], dict[str, list[set[str]]]()
    for pair in alike:
        if pair.text == EQUAL:
            of_unit = groups.setdefault(pair.unit, [])
            joined = [group for group in of_unit if group & {pair.first, pair.second}]
            of_unit[:] = [group for group in of_unit if group not in joined]
            of_unit.append({pair.first, pair.second}.union(*joined))
        else:
            lines.append(f"{pair.unit}: {pair.first} and {pair.second} are {pair.text}")
    return [
        f"{unit}: {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))} are {EQUAL}"
        for unit, of_unit in groups.items()
        for names in map(sorted, of_unit)
    ] + lines


def with_sessions(
    unit: str, alike: Sequence[Pair], sessions: Mapping[str, Sequence[SessionIdentity]]
) -> list[Pair]:
    """Return the pairs with what their sessions have in common, and pairs with equal sessions only."""
    likeness = {(pair.first, pair.second): pair.likeness for pair in alike}
    known = {
        student: (
            {session.id for session in of_student},
            {session.inputs for session in of_student},
        )
        for student, of_student in sessions.items()
    }
    texts = {}
    for first, second in combinations(sorted(known), 2):
        if known[first][0] & known[second][0]:
            texts[first, second] = SAME_SESSION
        elif known[first][1] & known[second][1]:
            texts[first, second] = EQUAL_SESSION
    return [
        Pair(unit, *both, likeness.get(both, 0.0), texts.get(both, ""))
        for both in dict.fromkeys([*likeness, *texts])
    ]


def _likeness(first: Sequence[str], second: Sequence[str]) -> float:
    if not first or not second:
        return 0.0
    if first == second:
        return 1.0
    if min(len(first), len(second)) < MIN_LINES:
        return 0.0
    matcher = difflib.SequenceMatcher(None, "\n".join(first), "\n".join(second), autojunk=False)
    if matcher.real_quick_ratio() < NEARLY or matcher.quick_ratio() < NEARLY:
        return 0.0
    return min(matcher.ratio(), 0.999)
