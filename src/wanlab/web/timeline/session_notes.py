"""Note events of the running network in the live branch, and send them to browsers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wanlab import Network

from ..broadcast import Broadcast
from ..protocol.messages import LivePort
from ..running.port_changes import port_changes
from ..terminals.shell_marks import TypedCommand
from ..terminals.terminals import Terminal
from .branch import Branch
from .session_events import SessionEvent, SessionEventsPush
from .transcripts import TerminalRecord


class SessionNotes:
    """Writes to `branch`, which is the running network's branch, or the last network's."""

    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self.branch: Branch | None = None
        self._network: Network | None = None
        self._offset_real_s = 0.0
        """The machine's computing time that is not part of the branch's costs."""

    # -- in the network's thread ------------------------------------------------------------------

    def begin(self, network: Network, branch: Branch) -> None:
        """Note that the network of a branch has started."""
        self._network = network
        computed_real_s = network.machine.computed_real_s
        self._offset_real_s = computed_real_s - branch.costs.at(network.now_ns)

    def note_cost(self, network: Network) -> None:
        """Note how long the session has taken to compute so far."""
        if self.branch is not None:
            computed_real_s = network.machine.computed_real_s - self._offset_real_s
            self.branch.costs.note(network.now_ns, computed_real_s)

    def note_terminal(self, record: TerminalRecord) -> None:
        """Note a terminal that was opened."""
        if self.branch is not None:
            self.branch.terminals[record.name] = record

    def note_break(self, why: str) -> None:
        """Note that time was paused at a breakpoint."""
        if self.branch is not None and self._network is not None:
            now_ns = self._network.now_ns
            self.branch.events.add(SessionEvent(at_ns=now_ns, kind="breakpoint", text=why))

    # -- in the loop ------------------------------------------------------------------------------

    def note(self, event: SessionEvent) -> None:
        """Note an event."""
        if self.branch is not None:
            self.branch.events.add(event)
            self.push()

    def note_command(self, terminal: Terminal, command: TypedCommand) -> None:
        """Note a command line that was typed, when it begins and when it ends."""
        if self.branch is None:
            return
        if command.status is None:
            event = SessionEvent(
                at_ns=command.began_ns,
                kind="command",
                text=command.line,
                where=terminal.title,
                terminal=terminal.name,
            )
            self.branch.events.add(event)
        elif command.ended_ns is not None:
            self.branch.events.end_command(
                terminal.name,
                command.ended_ns,
                command.status,
                is_interrupted=command.is_interrupted,
            )
        self.push()

    def note_ports(
        self,
        before: Sequence[LivePort],
        after: Sequence[LivePort],
        at_ns: int,
        *,
        is_explained: bool,
    ) -> None:
        """Note changed ports; `is_explained`: another event describes the change."""
        if self.branch is None:
            return
        for event in port_changes(before, after, at_ns):
            shown = msgspec.structs.replace(event, text="") if is_explained else event
            self.branch.events.add(shown)
        self.push()

    def push(self, branch: Branch | None = None) -> None:
        """Send browsers the events of a branch that are new or have changed; without one, of the
        live branch."""
        branch = branch or self.branch
        if branch is not None and (events := branch.events.take_changed()):
            self._broadcast.push(SessionEventsPush(branch=branch.id, events=events))
