"""A lesson as Markdown: the student's edition, hints one at a time, and the answers.

Hints and answers are the folded parts of a page, `<details><summary>First hint</summary>...`. Those
whose title says "hint" are hints, in order; the others are answers.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

from wanlab.errors import WanlabError

from . import seed_values
from .unit import Unit

DETAILS = re.compile(
    r"<details>\s*(?:<summary>(?P<title>.*?)</summary>)?(?P<text>.*?)</details>", re.DOTALL
)
SWITCH = "WANLAB_ANSWERS"
HINT = "hint"


@dataclass(frozen=True)
class Folded:
    """A folded part of a lesson."""

    title: str
    text: str

    @property
    def is_hint(self) -> bool:
        return HINT in self.title.lower()


def read(unit: Unit) -> str:
    """Return a unit's lesson with the values of its seed. Raises WanlabError if it has no lesson."""
    try:
        text = (unit.folder / "lesson.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WanlabError(f"{unit.name} has no lesson") from None
    return str(seed_values.fill(text, unit.values))


def folded_parts(text: str) -> list[Folded]:
    """Return the folded parts of a lesson, in order."""
    return [_folded(match) for match in DETAILS.finditer(text)]


def for_students(text: str, unit: Unit) -> str:
    """Return a lesson without answers; each hint is replaced by the command that shows it."""
    count = 0

    def placeholder(match: re.Match[str]) -> str:
        nonlocal count
        part = _folded(match)
        if not part.is_hint:
            return ""
        count += 1
        return f"*({part.title}: `{_command(unit, count)}`)*"

    filled = str(seed_values.fill(text, unit.values))
    return re.sub(r"\n{3,}", "\n\n", DETAILS.sub(placeholder, filled))


def with_answers(text: str) -> str:
    """Return a lesson with all folded parts shown."""
    return DETAILS.sub(lambda match: _shown(_folded(match)), text)


def hint(unit: Unit, number: int) -> str:
    """Return one hint of a lesson. The first is 1. Raises WanlabError if there is no such hint."""
    hints = [part for part in folded_parts(read(unit)) if part.is_hint]
    if not 1 <= number <= len(hints):
        available = f"1 to {len(hints)}" if len(hints) > 1 else "1" if hints else "none"
        raise WanlabError(f"{unit.name} has no hint {number}", f"its hints: {available}")
    more = f"\n\n*(the next: `{_command(unit, number + 1)}`)*"
    return _shown(hints[number - 1]) + (more if number < len(hints) else "") + "\n"


def _command(unit: Unit, number: int) -> str:
    """Return the command that shows a hint of this unit, for its seed."""
    words = f"wanlab lab show {unit.name} --hint {number}"
    if unit.own_name:
        words += f" --units {shlex.quote(str(unit.folder.parent))}"
    return f"{words} --seed {unit.values['seed']}" if unit.draws else words


def answers_are_allowed() -> bool:
    """Whether this computer shows answers: not if WANLAB_ANSWERS is "no"."""
    return os.environ.get(SWITCH, "").lower() not in ("no", "0", "off", "false")


def refuse_answers() -> None:
    """Raise WanlabError where answers are switched off."""
    if not answers_are_allowed():
        raise WanlabError(
            f"answers are switched off on this computer ({SWITCH}={os.environ[SWITCH]})",
            "ask your instructor",
        )


def _folded(match: re.Match[str]) -> Folded:
    return Folded((match["title"] or "Answer").strip(), match["text"].strip())


def _shown(part: Folded) -> str:
    return f"**{part.title}.** {part.text}"
