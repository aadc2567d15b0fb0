"""Hand work in to the teacher of a class: the script of a unit, and the typed commands."""

from __future__ import annotations

import asyncio
import contextlib
import time

from wanlab.errors import WanlabError
from wanlab.labs import catalog, hand_in

from ..limits import ClassRules
from ..running.session import NetworkSession
from ..terminals.shell_marks import TypedCommand
from ..terminals.terminals import CLIENT, Terminal
from .lessons import Lessons


class HandIns:
    """Records the commands typed in a unit, and packs them for the teacher. Idle outside classes."""

    def __init__(self, lessons: Lessons, session: NetworkSession, rules: ClassRules) -> None:
        self._lessons = lessons
        self._session = session
        self._rules = rules
        self._number = int(time.time())  # other than those of an earlier server

    def note_command(self, terminal: Terminal, command: TypedCommand) -> None:
        """Note a command if it has ended, in the form of the transcripts of `wanlab lab start`."""
        unit = self._lessons.unit
        if unit is None or command.status is None:
            return
        if "\n" in command.line:  # a line of that form holds one command
            return
        home = self._lessons.unit_folder(unit)
        # A transcript that cannot be written is named when the work is handed in.
        with contextlib.suppress(OSError):
            transcripts = home.subfolder(hand_in.TRANSCRIPTS).make()
            if command.at_mininet:
                plan = self._session.plan
                nodes = [node.name for node in plan.document.nodes] if plan is not None else []
                hand_in.note_line(home, nodes, command.line)
                return
            where = CLIENT if terminal.node == CLIENT else f"root@{terminal.title}"
            self._number += 1
            line = f"{command.status}\t{where}\t{self._number} {command.line}\n"
            transcripts.append(hand_in.COMMANDS, line.encode())

    async def hand_in(self, name: str) -> None:
        """Pack the work on a unit, and give it to the teacher."""
        if self._rules.hand_in is None or self._rules.seed is None:
            raise WanlabError(
                "this laboratory does not belong to a class",
                "pack your work with: wanlab lab hand-in",
            )
        unit = catalog.find(name)
        packed = await asyncio.to_thread(self._pack, name, self._rules.seed)
        await self._rules.hand_in(unit.name, packed)
        self._lessons.note_handed_in(unit, time.time())

    def _pack(self, name: str, seed: int) -> bytes:
        unit = catalog.find(name)
        home = self._lessons.unit_folder(unit)
        if not home.has_folder():
            raise WanlabError(f"{unit.heading} has not been started", "press Start")
        script, _ = hand_in.script_of(unit, home)
        return hand_in.packed(unit, seed, home, script, kernel=self._rules.choice.kernel)
