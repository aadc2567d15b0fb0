"""A lesson as Markdown: its editions, hints one at a time, and the answers.

A lesson has two editions, for students in terminals and on the page of `wanlab web`. One text holds
both. Most of it is the same; what differs is between comments, which any reader of Markdown hides:

    <!-- terminal -->Press Ctrl-B 2.<!-- page -->Click the tab of h1.<!-- end -->

Each side may be missing. Comments may also stand on lines of their own, around whole paragraphs, or
around rows of a table.

Notes, hints and answers are the folded parts of a page, `<details><summary>First hint</summary>...`.
Those whose title begins as one of NOTES are notes, which everybody may read; those whose title says
"hint" are hints, in order; the others are answers.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import Literal

from wanlab.errors import WanlabError

from . import seed_values
from .unit import Unit

DETAILS = re.compile(
    r"<details>\s*(?:<summary>(?P<title>.*?)</summary>)?(?P<text>.*?)</details>", re.DOTALL
)
Edition = Literal["terminal", "page"]
TERMINAL: Edition = "terminal"
PAGE: Edition = "page"
MARK = re.compile(
    r"^<!-- (?P<line>terminal|page|end) -->\n|<!-- (?P<inline>terminal|page|end) -->", re.MULTILINE
)
SWITCH = "WANLAB_ANSWERS"
HINT = "hint"
NOTES = ("In the manual", "Why your number differs")


@dataclass(frozen=True)
class Folded:
    """A folded part of a lesson."""

    title: str
    text: str

    @property
    def is_note(self) -> bool:
        return self.title.startswith(NOTES)

    @property
    def is_hint(self) -> bool:
        return HINT in self.title.lower()


def edition(text: str, wanted: Edition) -> str:
    """Return one of a text's editions: what both share, and what only this one has."""
    kept: list[str] = []
    only: str | None = None
    begin = 0
    for mark in MARK.finditer(text):
        if only in (None, wanted):
            kept.append(text[begin : mark.start()])
        name = mark["line"] or mark["inline"]
        only = None if name == "end" else name
        begin = mark.end()
    kept.append(text[begin:])
    return re.sub(r"\n{3,}", "\n\n", "".join(kept))


def read(unit: Unit, wanted: Edition = TERMINAL) -> str:
    """Return a unit's lesson with the values of its seed. Raises WanlabError if it has no lesson."""
    try:
        text = (unit.folder / "lesson.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise WanlabError(f"{unit.name} has no lesson") from None
    return str(seed_values.fill(edition(text, wanted), unit.values))


def folded_parts(text: str) -> list[Folded]:
    """Return the folded parts of a lesson, in order."""
    return [_folded(match) for match in DETAILS.finditer(text)]


def student_edition(unit: Unit, wanted: Edition = TERMINAL) -> str:
    """Return a unit's lesson without answers."""
    text = read(unit, wanted)
    return for_students(text, unit) if wanted == TERMINAL else without_answers(text)


def without_answers(text: str) -> str:
    """Return a lesson for the page without answers; notes and hints stay folded."""

    def kept(match: re.Match[str]) -> str:
        part = _folded(match)
        return match[0] if part.is_note or part.is_hint else ""

    return re.sub(r"\n{3,}", "\n\n", DETAILS.sub(kept, text))


def for_students(text: str, unit: Unit) -> str:
    """Return a lesson without answers; each hint is replaced by the command that shows it."""
    count = 0

    def placeholder(match: re.Match[str]) -> str:
        nonlocal count
        part = _folded(match)
        if part.is_note:
            return _shown(part)
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
