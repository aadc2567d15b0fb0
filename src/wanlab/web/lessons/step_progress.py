"""Find out which of a lesson's steps in terminals are done: the command has run and ended as it should.

`canvas_progress` does the same for steps on the canvas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from wanlab.labs.outcome import text_figure
from wanlab.labs.shell import plain
from wanlab.labs.unit import CLIENT, GUI, MININET, Step

from ..terminals.shell_marks import TypedCommand
from ..terminals.terminals import Terminal
from . import canvas_steps

NEVER_RAN = (2, 126, 127)
"""Exit statuses of a wrong use, and of programs that cannot be started."""
UNKNOWN_COMMAND = "*** Unknown command:"


def place_of(terminal: Terminal, command: TypedCommand) -> str:
    """Return where a command was typed, as steps name it."""
    if command.at_mininet:
        return MININET
    return CLIENT if terminal.node == CLIENT else terminal.title


class CommandSteps:
    """The steps of a unit that are done by typing."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = [
            step for step in steps if step.where != (GUI,) and canvas_steps.can_be_done(step)
        ]
        self._done_lines: dict[int, set[tuple[str, str]]] = {}
        """The lines of each unfinished step that have been done, with their places."""
        self._begun: dict[int, tuple[TypedCommand, int | None]] = {}
        """Each running command and the step for which it has begun, by the command's id()."""

    def note_begun(self, place: str, command: TypedCommand, done: Collection[int]) -> list[int]:
        """Return the steps that are done when a command begins."""
        step = self.step_for(place, command.line, done)
        self._begun[id(command)] = (command, None if step is None else step.n)
        if step is None or not step.waits_for_enter:
            return []
        return self._with_enter_steps([step.n], done)

    def note_running(self, place: str, command: TypedCommand, done: Collection[int]) -> list[int]:
        """Note that a command, such as a server, keeps running; return the steps that are done."""
        step = self._step_of(place, command, done)
        if step is None or not step.starts or not _says_all(step, command):
            return []
        return self._note_line_done(step, place, command.line, done)

    def note_ended(self, place: str, command: TypedCommand, done: Collection[int]) -> list[int]:
        """Note that a command has ended; return the steps that are done by this."""
        step = self._step_of(place, command, done)
        self._begun.pop(id(command), None)
        finished = list(self._ended_servers(place, command.line, done))
        if step is None or not _succeeded(step, command):
            return finished
        return [*self._note_line_done(step, place, command.line, done), *finished]

    def _note_line_done(
        self, step: Step, place: str, line: str, done: Collection[int]
    ) -> list[int]:
        """Note that a line of a step is done; return the steps that are done by this."""
        done_lines = self._done_lines.setdefault(step.n, set())
        done_lines.add((place, normalised(line)))
        wanted = {(where, normalised(text)) for where in step.where for text in step.commands}
        if not wanted <= done_lines:
            return []
        del self._done_lines[step.n]
        return self._with_enter_steps([step.n], done)

    def _step_of(self, place: str, command: TypedCommand, done: Collection[int]) -> Step | None:
        """Return the step that a command belongs to.

        A server that has begun for one step, and still runs or ends, is not the server of a later one.
        """
        step = self.step_for(place, command.line, done)
        begun = self._begun.get(id(command))
        if step is None or (begun is not None and begun[1] != step.n):
            return None
        return step

    def step_for(self, place: str, line: str, done: Collection[int]) -> Step | None:
        """Return the step that a line belongs to: the first that is not done.

        A repeated line belongs to a later step only if a step in between has been done.
        """
        last_done: int | None = None
        for step in self._steps_with_line(place, line):
            if step.n in done:
                last_done = step.n
            elif last_done is None or any(last_done < number < step.n for number in done):
                return step
        return None

    def _steps_with_line(self, place: str, line: str) -> Iterator[Step]:
        wanted = normalised(line)
        for step in self.steps:
            if place in step.where and any(normalised(text) == wanted for text in step.commands):
                yield step

    def _ended_servers(self, place: str, line: str, done: Collection[int]) -> Iterator[int]:
        """Yield the steps that only end the command of another step."""
        for starting in self._steps_with_line(place, line):
            if starting.n not in done or not starting.starts:
                continue
            ending = (
                step
                for step in self.steps
                if starting.starts in (step.stops, step.ends) and step.n not in done
            )
            if (step := next(ending, None)) is not None:
                yield step.n

    def _with_enter_steps(self, numbers: list[int], done: Collection[int]) -> list[int]:
        """Add the steps that press Enter for these."""
        all_done = {*done, *numbers}
        return numbers + [
            step.n
            for step in self.steps
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
    return all(text_figure(text, output).in_band for text in step.says)


def normalised(line: str) -> str:
    """Return a line without irrelevant parts such as `sudo`: in a machine everybody is root."""
    return " ".join(line.split()).removeprefix("sudo ")
