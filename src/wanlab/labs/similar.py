"""Finds equal and nearly equal submissions.

Scripts are compared by their shingles (Broder, On the resemblance and containment of documents, 1997),
as the k-grams of MOSS: hashes of all groups of GROUP successive words of a line. Before that, comments
and white space are removed, every number becomes the same word, and so does every name of a variable
or function that the script itself defines. So a copy with other numbers, names, comments or another
order of lines has the same shingles. The likeness of two scripts is Dice's coefficient: twice the
number of shingles in both, divided by the sum of the numbers of shingles in each.

The time is proportional to the length of a script. Of a very long one, only the smallest hashes are
kept, as Broder does: they are a random sample of its shingles, and of those of its copies the same one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wanlab.session import SessionIdentity

GROUP = 3
NEARLY = 0.9
SAME_FORM = 0.999
MAX_NEARLY = 0.99
EQUAL = "equal"
EQUAL_FORM = "equal but for numbers, names and the order of lines"
SAME_SESSION = "the same session file"
EQUAL_SESSION = "the same was typed at the same instants"
MIN_LINES = 3
"""Shorter scripts are alike by chance, unless they are equal."""
MAX_SHINGLES = 4096
HASHES = 1 << 64
MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, as in multiplicative hashing (Knuth, volume 3, 6.4)."""
_COMMENT = re.compile(r"(^|\s)#.*")
_WORD = re.compile(r"\w+|[^\w\s]")
# name=value, for name, read name, name()
_DEFINED = re.compile(
    r"(?:^|(?<=[ ;&|(]))(?:([A-Za-z_]\w*)(?==|\(\))|(?:for|read) (\w+))", re.MULTILINE
)


@dataclass(frozen=True)
class ScriptShingles:
    """What a script is compared by."""

    digest: bytes
    """Of its lines, without comments and white space."""
    lines: int
    hashes: frozenset[int]
    limit: int = HASHES
    """The hashes below this number are kept."""

    @property
    def count(self) -> int:
        """The number of different shingles; of long scripts, an estimate."""
        return len(self.hashes) * (HASHES // self.limit)


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
    def script(self) -> str:
        """How their scripts are alike, if they are."""
        if self.likeness < NEARLY:
            return ""
        if self.likeness < SAME_FORM:
            return f"{self.likeness:.0%} alike"
        return EQUAL if self.likeness == 1 else EQUAL_FORM

    @property
    def text(self) -> str:
        return "; ".join(filter(None, [self.script, self.session]))


def normalized(script: str) -> list[str]:
    """Return the lines of a script without comments, blank lines and redundant white space."""
    lines = (" ".join(_COMMENT.sub("", line).split()) for line in script.splitlines())
    return [line for line in lines if line]


def shingles(script: str) -> ScriptShingles:
    """Return what a script is compared by."""
    lines = normalized(script)
    text = "\n".join(lines)
    names = {name for match in _DEFINED.finditer(text) for name in match.groups() if name}
    known: dict[str, int] = {}
    hashes: set[int] = set()
    limit = HASHES
    for line in dict.fromkeys(lines):
        for number in _hashes([_general(word, names) for word in _WORD.findall(line)], known):
            if number < limit:
                hashes.add(number)
                if len(hashes) > MAX_SHINGLES:
                    limit //= 2
                    hashes = {kept for kept in hashes if kept < limit}
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return ScriptShingles(digest, len(lines), frozenset(hashes), limit)


def likeness(first: ScriptShingles, second: ScriptShingles) -> float:
    """Return how alike two scripts are: 1 if they are equal, 0 if that cannot be said."""
    if not first.lines or not second.lines:
        return 0.0
    if first.digest == second.digest:
        return 1.0
    if min(first.lines, second.lines) < MIN_LINES:
        return 0.0
    limit = min(first.limit, second.limit)
    ours, theirs = (
        it.hashes if it.limit == limit else {kept for kept in it.hashes if kept < limit}
        for it in (first, second)
    )
    if ours == theirs:
        return SAME_FORM
    return min(2 * len(ours & theirs) / (len(ours) + len(theirs)), MAX_NEARLY)


def pairs(unit: str, scripts: Mapping[str, ScriptShingles]) -> list[Pair]:
    """Return the pairs of students whose scripts are alike, the most alike first.

    Of students with equal scripts, each is paired with the first of them, who alone is compared with
    others: 1,000 equal scripts are 999 pairs. The same holds for scripts of equal form.
    """
    written = [name for name in sorted(scripts) if scripts[name].lines]
    equal = _groups((scripts[name].digest, name) for name in written)
    long = [group[0] for group in equal if scripts[group[0]].lines >= MIN_LINES]
    equal_form = _groups((scripts[name].hashes, name) for name in long)
    alike = [Pair(unit, *both, 1.0) for group in equal for both in _with_first(group)]
    alike += [Pair(unit, *both, SAME_FORM) for group in equal_form for both in _with_first(group)]
    alike += _nearly_equal(unit, {group[0]: scripts[group[0]] for group in equal_form})
    return sorted(alike, key=lambda pair: (-pair.likeness, pair.first, pair.second))


def summary(alike: Sequence[Pair]) -> list[str]:
    """Return a line for each group of students with equal scripts, and for each other pair."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    lines = []
    for pair in alike:
        if pair.text in (EQUAL, EQUAL_FORM):
            groups.setdefault((pair.unit, pair.text, pair.first), [pair.first]).append(pair.second)
        else:
            lines.append(f"{pair.unit}: {pair.first} and {pair.second} are {pair.text}")
    return [
        f"{unit}: {', '.join(names[:-1])} and {names[-1]} are {text}"
        for (unit, text, _), names in groups.items()
    ] + lines


def with_sessions(
    unit: str,
    alike: Sequence[Pair],
    scripts: Mapping[str, ScriptShingles],
    sessions: Mapping[str, Sequence[SessionIdentity]],
) -> list[Pair]:
    """Return the pairs with what their sessions have in common, and pairs with equal sessions only.

    Of students with equal sessions, each is paired with the first of them.
    """
    known = [(name, session) for name in sorted(sessions) for session in sessions[name]]
    by_inputs = _groups((session.inputs, name) for name, session in known)
    by_id = _groups((session.id, name) for name, session in known)
    texts = {both: EQUAL_SESSION for group in by_inputs for both in _with_first(group)}
    texts |= {both: SAME_SESSION for group in by_id for both in _with_first(group)}
    found = {(pair.first, pair.second): pair.likeness for pair in alike}
    for first, second in texts:
        if (first, second) not in found and first in scripts and second in scripts:
            value = likeness(scripts[first], scripts[second])
            found[first, second] = value if value >= NEARLY else 0.0
    return [
        Pair(unit, *both, found.get(both, 0.0), texts.get(both, ""))
        for both in dict.fromkeys([*found, *texts])
    ]


def _nearly_equal(unit: str, scripts: Mapping[str, ScriptShingles]) -> Iterator[Pair]:
    """Yield the pairs of scripts that have most shingles in common."""
    ordered = sorted(scripts, key=lambda name: (scripts[name].count, name))
    for place, first in enumerate(ordered):
        # Dice's coefficient of scripts that differ more in length is below NEARLY.
        most = scripts[first].count * (2 - NEARLY) / NEARLY
        for second in ordered[place + 1 :]:
            if scripts[second].count > most:
                break
            value = likeness(scripts[first], scripts[second])
            if value >= NEARLY:
                yield Pair(unit, min(first, second), max(first, second), value)


def _groups(keyed: Iterable[tuple[Hashable, str]]) -> list[list[str]]:
    """Return the names of each key, in order, each once."""
    groups: dict[Hashable, dict[str, None]] = {}
    for key, name in keyed:
        groups.setdefault(key, {})[name] = None
    return [list(names) for names in groups.values()]


def _with_first(group: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in group[1:]:
        yield group[0], name


def _general(word: str, names: set[str]) -> str:
    """Return what stands for a word: one word for all numbers, and one for the script's own names."""
    return "0" if word[0].isdigit() else "x" if word in names else word


def _hashes(words: Sequence[str], known: dict[str, int]) -> Iterator[int]:
    """Yield the hashes of the groups of successive words; of a short line, its own.

    `known` are the hashes of single words, to which new ones are added.
    """
    numbers = []
    for word in words:
        if word not in known:
            digest = hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest()
            known[word] = int.from_bytes(digest)
        numbers.append(known[word])
    for start in range(max(1, len(numbers) - GROUP + 1)):
        value = 0
        for number in numbers[start : start + GROUP]:
            value = ((value ^ number) * MULTIPLIER) % HASHES
        yield value
