"""The open lesson in the running network: type a step for the student, and check the result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wanlab.errors import WanlabError
from wanlab.labs.unit import CLIENT, MININET, Step

from ..protocol import commands
from ..protocol.lessons import CheckResult
from ..running.session import NetworkSession
from ..terminals.shell_marks import INTERRUPT
from ..terminals.terminals import PROMPT, Terminal
from .lessons import Lessons, check, keys_of
from .step_progress import normalised, place_of


class LessonSteps:
    """Carries out steps in the terminals of the running network."""

    def __init__(self, lessons: Lessons, session: NetworkSession) -> None:
        self._lessons = lessons
        self._session = session

    async def type(self, number: int | None) -> list[str]:
        """Type the commands of a step into its terminals, and return the ids of these.

        Terminals that are not open yet are opened.
        """
        if number is None:
            raise WanlabError("no step was named")
        step = self._lessons.step(number)
        wheres = [self._lessons.step(n).where for n in step.enter] if step.enter else [step.where]
        keys = keys_of(step)
        if not keys:
            raise WanlabError(f"step {step.title} has nothing to type")
        if step.stops:
            terminals = self._running(self._starting(step.stops))
        else:
            names = dict.fromkeys(name for where in wheres for name in where)
            terminals = [await self._free(name) for name in names]
        jitter = self._lessons.start_jitter
        if step.enter and jitter.limit_ns:
            self._session.terminals.send_keys_apart(terminals, keys.encode(), jitter.next_ns)
        else:
            for terminal in terminals:
                self._session.terminals.send_keys(terminal, keys.encode())
        return [terminal.name for terminal in terminals]

    def interrupt(self, number: int | None) -> list[str]:
        """Press Ctrl-C in the terminals that run the commands of a step; return their ids."""
        if number is None:
            raise WanlabError("no step was named")
        terminals = self._running([self._lessons.step(number)])
        for terminal in terminals:
            self._session.terminals.send_keys(terminal, INTERRUPT)
        return [terminal.name for terminal in terminals]

    def _starting(self, name: str) -> list[Step]:
        """Return the steps that start a command of this name."""
        assert self._lessons.unit is not None
        return [step for step in self._lessons.unit.steps if step.starts == name]

    def _running(self, steps: Sequence[Step]) -> list[Terminal]:
        """Return the terminals that run a command of these steps."""
        lines = {(place, normalised(line)) for s in steps for place in s.where for line in s.lines}
        found = [
            terminal
            for terminal in self._session.terminals
            if (command := terminal.marks.running) is not None
            and (place_of(terminal, command), normalised(command.line)) in lines
        ]
        if not found:
            raise WanlabError(f"{steps[0].lines[-1]} is not running", "it has ended already")
        return found

    async def _free(self, name: str) -> Terminal:
        """Return a terminal that waits for a command; opened if there is none."""
        node = self._node_id(name)
        for terminal in self._session.terminals:
            if self._is_at(terminal, name, node) and terminal.marks.running is None:
                return terminal
        return self._session.terminals[await self._open(node)]

    def _is_at(self, terminal: Terminal, name: str, node: str) -> bool:
        """Return whether a terminal is one of a place of steps."""
        if terminal.status is not None:
            return False
        if name == MININET:  # it can be a prompt of `sudo mn`, whose network is not the canvas's
            return terminal.marks.at_mininet
        return terminal.node == node and not terminal.marks.at_mininet

    async def open_terminal(self, name: str, folder: str | None = None) -> str:
        """Open a new terminal, waiting until the network has started; return its id.

        `name` is the name of a node, "client" or "mininet". The terminal begins in `folder`, or in
        the home folder.
        """
        await self._session.wait_until_started()
        return await self._open(self._node_id(name), folder)

    def _node_id(self, name: str) -> str:
        return {CLIENT: CLIENT, MININET: PROMPT}.get(name) or self._session.node_id(name)

    async def _open(self, node: str, folder: str | None = None) -> str:
        command = commands.OpenTerminalCommand(node=node)
        opened = await self._session.terminals.open(command, folder=folder)
        return opened.terminal

    async def check(self) -> list[CheckResult]:
        """Grade the running network. The progress is pushed to all browsers."""
        unit = self._lessons.unit
        if unit is None:
            raise WanlabError("no lesson is open")
        loop = asyncio.get_running_loop()

        def report_progress(line: str) -> None:
            what = line.removeprefix("check ")
            loop.call_soon_threadsafe(self._lessons.note_checking, what)

        self._lessons.note_checking(f"{len(unit.check)} checks")
        try:
            marks = await self._session.in_network(
                lambda network: check(unit, network, report_progress)
            )
        except WanlabError:
            self._lessons.note_checking("")
            raise
        return self._lessons.note_check(unit, marks)
