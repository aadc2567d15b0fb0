"""Watch a student's actions in the open lesson, and mark the steps that they complete."""

from __future__ import annotations

from collections.abc import Callable

from wanlab.labs.unit import Step, Unit

from ..protocol import commands
from ..protocol.lessons import StepHint
from ..protocol.messages import SavedFile
from ..protocol.model import Document
from ..running.session import NetworkSession
from ..terminals.shell_marks import TypedCommand
from ..terminals.terminals import CLIENT, PROMPT, Terminal
from .canvas_progress import CanvasAction, CanvasSteps
from .lessons import Lessons
from .mistakes import Attempt, hint_for
from .step_progress import CommandSteps, place_of

SERVES_AFTER_NS = 500_000_000
"""A command that has run this long counts as a server that was started."""


class StepWatch:
    """Marks steps of the open unit as done. `document` returns the drawing."""

    def __init__(
        self, lessons: Lessons, session: NetworkSession, document: Callable[[], Document]
    ) -> None:
        self._lessons = lessons
        self._session = session
        self._document = document
        self._unit: Unit | None = None
        self._commands = CommandSteps(())
        self._canvas = CanvasSteps(())
        self._running: dict[str, tuple[Terminal, TypedCommand, int]] = {}

    def _begin_unit(self) -> bool:
        """Return whether a lesson is open; forget the actions in another one."""
        unit = self._lessons.unit
        if unit is not self._unit:
            self._unit = unit
            steps = unit.steps if unit is not None else ()
            self._commands, self._canvas = CommandSteps(steps), CanvasSteps(steps)
            self._running.clear()
            self._lessons.show_hint(None)
            self._lessons.show_running(())
        return unit is not None

    def _mark(self, steps: list[int]) -> None:
        if steps and self._unit is not None:
            self._lessons.progress.mark_done(self._unit, steps)

    @property
    def _done(self) -> frozenset[int]:
        assert self._unit is not None
        return frozenset(self._lessons.progress.of(self._unit).steps)

    # -- terminals --------------------------------------------------------------------------------

    def note_command(self, terminal: Terminal, command: TypedCommand) -> None:
        """Note a typed command that has begun or ended."""
        if not self._begin_unit():
            return
        place = place_of(terminal, command)
        if command.status is None:
            now_ns = self._session.clock.snapshot().now_ns
            self._running[terminal.name] = (terminal, command, now_ns)
            self._mark(self._commands.note_begun(place, command, self._done))
        else:
            self._running.pop(terminal.name, None)
            done = self._commands.note_ended(place, command, self._done)
            self._mark(done)
            attempt, steps = Attempt(place, command), self._commands.steps
            self._lessons.show_hint(None if done else hint_for(attempt, steps, self._done))
        self._show_running()

    def _show_running(self) -> None:
        running = (
            self._step_of(terminal, command) for terminal, command, _ in self._running.values()
        )
        self._lessons.show_running(step.n for step in running if step is not None)

    def _step_of(self, terminal: Terminal, command: TypedCommand) -> Step | None:
        """Return the step that a running command belongs to, unless it is done."""
        return self._commands.step_for(place_of(terminal, command), command.line, self._done)

    def check_running(self) -> None:
        """Mark the steps whose programs are still running."""
        if not self._begin_unit():
            return
        now_ns = self._session.clock.snapshot().now_ns
        for name, (terminal, command, began_ns) in list(self._running.items()):
            if terminal.status is not None:
                del self._running[name]
                self._show_running()
            elif now_ns - began_ns >= SERVES_AFTER_NS:
                place = place_of(terminal, command)
                self._mark(self._commands.note_running(place, command, self._done))
                self._check_long_enough(terminal, command, now_ns - began_ns)

    def _check_long_enough(self, terminal: Terminal, command: TypedCommand, ran_ns: int) -> None:
        """Remind of Ctrl-C once a command has run as long as its step says."""
        step = self._step_of(terminal, command)
        if step is not None and step.for_ns is not None and ran_ns >= step.for_ns:
            self._lessons.show_hint(StepHint(step.n, "it has run long enough: press Ctrl-C"))

    # -- the canvas -------------------------------------------------------------------------------

    def note(self, *actions: CanvasAction) -> None:
        """Note actions on the canvas; a call without any means that the document may have changed."""
        if self._begin_unit():
            self._mark(self._canvas.note(actions, self._document(), self._done))

    def note_performed(self, command: commands.Command, result: object) -> None:
        """Note a browser's command that was carried out."""
        self.note(*self._actions(command, result))

    def _actions(self, command: commands.Command, result: object) -> list[CanvasAction]:
        if isinstance(result, SavedFile):
            return [CanvasAction("save", result.path)]
        match command:
            case commands.NewCommand():
                return [CanvasAction("new")]
            case commands.OpenCommand(path=path):
                return [CanvasAction("open", path)]
            case commands.StopCommand():
                return [CanvasAction("stop")]
            case commands.LessonCommand(action="start" | "start_at") if self._lessons.unit:
                unit = self._lessons.unit
                opened = (CanvasAction("open", name) for name in (unit.file, *unit.aliases))
                return [CanvasAction("new"), *opened]
            case commands.OpenTerminalCommand(node=node, command=None):
                return [CanvasAction("terminal", self._name_of(node))]
        return []

    def _name_of(self, node: str) -> str:
        if node in (CLIENT, PROMPT):
            return node
        return next((it.name for it in self._document().nodes if it.id == node), "")
