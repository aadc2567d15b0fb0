"""Find out which steps of a lesson are done. A step is done when its effect exists, however achieved.

CommandSteps    steps in terminals: the command has run and ended as it should
CanvasSteps     steps on the canvas: the action was performed, or what it draws is drawn
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from wanlab.errors import WanlabError
from wanlab.labs.outcome import text_figure
from wanlab.labs.report import OPEN
from wanlab.labs.shell import plain
from wanlab.labs.unit import CLIENT, GUI, MININET, Step

from . import canvas_steps
from .model import Document
from .shell_marks import TypedCommand
from .terminals import Terminal

NEVER_RAN = (2, 126, 127)
"""Exit statuses of a wrong use, and of programs that cannot be started."""
UNKNOWN_COMMAND = "*** Unknown command:"
DRAWN = ("draw", "properties", "preferences")
"""Words whose effect is visible in the document."""
Event = tuple[str, str]
"""A word, and the name of a file or node, or ""."""


def place_of(terminal: Terminal, command: TypedCommand) -> str:
    """Return where a command was typed, as steps name it."""
    if command.at_mininet:
        return MININET
    return CLIENT if terminal.node == CLIENT else terminal.title


class CommandSteps:
    """The steps of a unit that are done by typing."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = [
            step for step in steps if step.where != (GUI,) and canvas_steps.can_be_done(step)
        ]
        self._fulfilled: dict[int, set[tuple[str, str]]] = {}
        """The places and lines of each step that have been done."""

    def begun(self, place: str, command: TypedCommand, done: Collection[int]) -> list[int]:
        """Return the steps that are done when a command begins."""
        step = self._step_for(place, command.line, done)
        if step is None or not step.waits_for_enter:
            return []
        return self._with_followers([step.n], done)

    def runs(self, place: str, command: TypedCommand, done: Collection[int]) -> list[int]:
        """Return the steps that are done by a command that has kept running, such as a server."""
        step = self._step_for(place, command.line, done)
        if step is None or not step.starts or not _says_all(step, command):
            return []
        return self._fulfil(step, place, command.line, done)

    def ended(self, place: str, command: TypedCommand, done: Collection[int]) -> list[int]:
        """Return the steps that are done when a command has ended."""
        step = self._step_for(place, command.line, done)
        finished = list(self._ended_servers(place, command.line, done))
        if step is None or not _succeeded(step, command):
            return finished
        return [*self._fulfil(step, place, command.line, done), *finished]

    def _fulfil(self, step: Step, place: str, line: str, done: Collection[int]) -> list[int]:
        fulfilled = self._fulfilled.setdefault(step.n, set())
        fulfilled.add((place, _plain(line)))
        wanted = {(where, _plain(text)) for where in step.where for text in step.commands}
        if not wanted <= fulfilled:
            return []
        del self._fulfilled[step.n]
        return self._with_followers([step.n], done)

    def _step_for(self, place: str, line: str, done: Collection[int]) -> Step | None:
        """Return the step that a line belongs to: the first that is not done.

        A repeated line belongs to a later step only if a step in between has been done.
        """
        last_done: int | None = None
        for step in self._fitting(place, line):
            if step.n in done:
                last_done = step.n
            elif last_done is None or any(last_done < number < step.n for number in done):
                return step
        return None

    def _fitting(self, place: str, line: str) -> Iterator[Step]:
        wanted = _plain(line)
        for step in self._steps:
            if place in step.where and any(_plain(text) == wanted for text in step.commands):
                yield step

    def _ended_servers(self, place: str, line: str, done: Collection[int]) -> Iterator[int]:
        """Yield the steps that only end the command of another step."""
        for starting in self._fitting(place, line):
            if starting.n not in done or not starting.starts:
                continue
            ending = (
                step
                for step in self._steps
                if starting.starts in (step.stops, step.ends) and step.n not in done
            )
            if (step := next(ending, None)) is not None:
                yield step.n

    def _with_followers(self, numbers: list[int], done: Collection[int]) -> list[int]:
        """Add the steps that press Enter for these."""
        all_done = {*done, *numbers}
        return numbers + [
            step.n
            for step in self._steps
            if step.enter and step.n not in all_done and all_done.issuperset(step.enter)
        ]


def _succeeded(step: Step, command: TypedCommand) -> bool:
    assert command.status is not None
    if UNKNOWN_COMMAND.encode() in command.output and command.at_mininet:
        return False
    if step.for_ns is not None or step.starts:  # Ctrl-C ends it
        if command.status in NEVER_RAN:
            return False
    elif command.status != (step.status or 0):
        return False
    return _says_all(step, command)


def _says_all(step: Step, command: TypedCommand) -> bool:
    output = plain(command.output.decode(errors="replace"))
    return all(text_figure(text, output).status != OPEN for text in step.says)


def _plain(line: str) -> str:
    """Return a line without irrelevant parts such as `sudo`: in a machine everybody is root."""
    return " ".join(line.split()).removeprefix("sudo ")


class CanvasSteps:
    """The steps of a unit that are done on the canvas."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = [step for step in steps if step.where == (GUI,)]
        self._performed: dict[int, set[str]] = {}
        """The words of each step that have been performed."""

    def note(self, events: Iterable[Event], document: Document, done: Collection[int]) -> list[int]:
        """Return the steps that are done after these actions; the drawing is in the document."""
        all_done = set(done)
        for event in events:
            self._note_event(event, all_done)
        for step in self._steps:
            if step.n in all_done:
                continue
            performed = self._performed.setdefault(step.n, set())
            for word, argument in step.do.items():
                if word == "look" or (word in DRAWN and _is_drawn(document, word, argument)):
                    performed.add(word)
            if performed >= {word for word in step.do if word != "look"} and performed:
                if any(word != "look" for word in step.do):
                    all_done.add(step.n)
            elif any(word in DRAWN for word in step.do):
                break  # drawings of later steps are compared only once this one is drawn
        return [step.n for step in self._steps if step.n in all_done and step.n not in done]

    def _note_event(self, event: Event, done: Collection[int]) -> None:
        """Count an action for the first step that it fits."""
        word, name = event
        for step in self._steps:
            if step.n in done or word not in step.do:
                continue
            performed = self._performed.setdefault(step.n, set())
            if word == "terminal":
                names = set(canvas_steps.terminal_names(step.do[word]))
                if name not in names or f"terminal {name}" in performed:
                    continue
                performed.add(f"terminal {name}")
                if all(f"terminal {one}" in performed for one in names):
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
