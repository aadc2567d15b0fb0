"""The open lesson in the running network: type a step for the student, and check the result."""

from __future__ import annotations

import asyncio
import itertools

from wanlab.errors import WanlabError
from wanlab.labs.unit import CLIENT, MININET, Step

from . import commands, protocol
from .lessons import Lessons, check, keys_of
from .session import NetworkSession
from .terminals import PROMPT, Terminal


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
        if step.stops:
            wheres = [
                starting.where for starting in self._unit_steps() if starting.starts == step.stops
            ] or wheres
        keys = keys_of(step)
        if not keys:
            raise WanlabError(f"step {step.title} has nothing to type")
        names = list(dict.fromkeys(name for where in wheres for name in where))
        terminals = [await self._terminal(name) for name in names]
        for terminal in terminals:
            self._session.terminals.send_keys(terminal, keys.encode())
        return [terminal.name for terminal in terminals]

    def _unit_steps(self) -> tuple[Step, ...]:
        assert self._lessons.unit is not None
        return self._lessons.unit.steps

    async def _terminal(self, name: str) -> Terminal:
        node = self._node_id(name)
        for terminal in self._session.terminals:
            if terminal.node == node and terminal.status is None:
                return terminal
        return self._session.terminals[await self._open(node)]

    async def open_terminal(self, name: str) -> str:
        """Open a new terminal, waiting until the network has started; return its id.

        `name` is the name of a node, "client" or "mininet".
        """
        await self._session.wait_until_started()
        return await self._open(self._node_id(name))

    def _node_id(self, name: str) -> str:
        return {CLIENT: CLIENT, MININET: PROMPT}.get(name) or self._session.node_id(name)

    async def _open(self, node: str) -> str:
        opened = await self._session.terminals.open(commands.OpenTerminalCommand(node=node))
        return opened.terminal

    async def check(self) -> list[protocol.CheckResult]:
        """Grade the running network. The progress is pushed to all browsers."""
        unit = self._lessons.unit
        if unit is None:
            raise WanlabError("no lesson is open")
        loop = asyncio.get_running_loop()

        numbers = itertools.count(1)

        def report_progress(line: str) -> None:
            what = f"{next(numbers)} of {len(unit.check)}: {line.removeprefix('check: ')}"
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
