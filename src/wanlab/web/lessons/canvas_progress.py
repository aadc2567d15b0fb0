"""Find out which of a lesson's steps on the canvas are done, however this was achieved.

A step is done when each of its words is: an action was performed, or what it draws is drawn.
`step_progress` does the same for steps in terminals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from wanlab.errors import WanlabError
from wanlab.labs.unit import GUI, Step

from ..protocol.model import Document
from . import canvas_steps

DRAWN = frozenset({"draw", "properties", "preferences"})
"""Words whose effect is visible in the document."""

SHOWN = DRAWN | {"open"}
"""Words that change what Run starts."""

RUNNING = frozenset({"run", "stop"})


class CanvasAction(NamedTuple):
    """An action that was performed on the canvas."""

    word: str
    """As in a step's `do`, such as "open"."""
    name: str = ""
    """The file that was opened or saved, or the node whose terminal was opened."""


class CanvasSteps:
    """The steps of a unit that are done on the canvas."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = [step for step in steps if step.where == (GUI,)]
        self._performed: defaultdict[int, set[str]] = defaultdict(set)
        """The words of each step that have been performed."""
        self._opened: defaultdict[int, set[str]] = defaultdict(set)
        """The terminals that have been opened for each step."""

    def note(
        self, actions: Iterable[CanvasAction], document: Document, done: Collection[int]
    ) -> list[int]:
        """Return the steps that are done after these actions; the drawing is in the document."""
        all_done = set(done)
        for action in actions:
            self._note_action(action, all_done)
        for step in self._steps:
            wanted = step.do.keys() - {"look"}
            if not wanted or step.n in all_done:
                continue
            performed = self._performed[step.n]
            performed |= {
                word for word in wanted & DRAWN if _is_drawn(document, word, step.do[word])
            }
            if performed >= wanted:
                all_done.add(step.n)
            elif wanted & DRAWN:
                break  # drawings of later steps are compared only once this one is drawn
        return [step.n for step in self._steps if step.n in all_done and step.n not in done]

    def _note_action(self, action: CanvasAction, done: Collection[int]) -> None:
        """Count an action for the first step that it fits."""
        word, name = action
        for step in self._steps:
            if step.n in done:
                continue
            if word not in step.do:
                if word in RUNNING and step.do.keys() & SHOWN:
                    return  # a later step runs what this one draws or opens
                continue
            performed = self._performed[step.n]
            if word == "terminal":
                names = set(canvas_steps.terminal_names(step.do[word]))
                opened = self._opened[step.n]
                if name not in names or name in opened:
                    continue
                opened.add(name)
                if opened == names:
                    performed.add(word)
                return
            if word in ("open", "save") and PurePosixPath(name).name != str(step.do[word]):
                continue
            if word not in performed:
                performed.add(word)
                return


def _is_drawn(document: Document, word: str, argument: object) -> bool:
    try:
        edit = canvas_steps.edit_for(document, word, argument)
    except WanlabError:
        return False
    return not (edit.put.nodes or edit.put.links or edit.preferences)
