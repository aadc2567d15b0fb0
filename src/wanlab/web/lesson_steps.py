"""The open lesson and the running network: steps typed for the student, and checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.labs.unit import CLIENT, MININET, Step

from . import commands, protocol
from .lessons import Lessons, check, keys_of
from .session import NetworkSession
from .terminals import PROMPT, Terminal


class LessonSteps:
    """Types into terminals that are open, and opens those that are not."""

    def __init__(self, lessons: Lessons, running: NetworkSession) -> None:
        self._lessons = lessons
        self._running = running

    async def type(self, number: int | None) -> list[str]:
        """What a step has typed, in its terminals; their ids."""
        if number is None:
            raise WanlabError("which step?")
        step = self._lessons.step(number)
        wheres = [self._lessons.step(n).where for n in step.enter] if step.enter else [step.where]
        if step.stops:
            wheres = [it.where for it in self._unit_steps() if it.starts == step.stops] or wheres
        keys = keys_of(step)
        if not keys:
            raise WanlabError(f"nothing is typed in {step.title}")
        names = list(dict.fromkeys(name for where in wheres for name in where))
        terminals = [await self._terminal(name) for name in names]
        for terminal in terminals:
            self._running.keys(terminal, keys.encode())
        return [terminal.name for terminal in terminals]

    def _unit_steps(self) -> tuple[Step, ...]:
        assert self._lessons.unit is not None
        return self._lessons.unit.steps

    async def _terminal(self, name: str) -> Terminal:
        node = {CLIENT: CLIENT, MININET: PROMPT}.get(name) or self._running.node_called(name)
        for terminal in self._running.terminals:
            if terminal.node == node and terminal.status is None:
                return terminal
        opened = await self._running.open_terminal(commands.OpenTerminalCommand(node=node))
        return self._running.terminals[opened.terminal]

    async def check(self, tell: Callable[[protocol.Push], None]) -> list[protocol.CheckResult]:
        """Grades the running network."""
        unit = self._lessons.unit
        if unit is None:
            raise WanlabError("no lesson is open")
        loop = asyncio.get_running_loop()

        def say(line: str) -> None:
            push = protocol.MessagePush(level="info", what=line)
            loop.call_soon_threadsafe(tell, push)

        def order(network: Network) -> Any:
            return check(unit, network, say)

        return self._lessons.note_check(unit, await self._running.do(order))
