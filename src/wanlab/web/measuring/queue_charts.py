"""Open the chart of a queue in the browser when the course's `plot_q.sh` draws it in a terminal."""

from __future__ import annotations

import re
from collections.abc import Container

from ..broadcast import Broadcast
from ..protocol.push import Push
from ..running.session import NetworkSession
from ..terminals.shell_marks import TypedCommand
from ..terminals.terminals import Terminal

_ARGUMENTS = re.compile(r"\bplot_q\.sh\s+([^;&|]*)")


class QueueChartPush(Push, frozen=True, tag="queue_chart"):
    """`plot_q.sh` has begun to draw the queue of a port."""

    port: str


class QueueCharts:
    """Watches for `plot_q.sh` in the terminals of a session. Used in the server's loop."""

    def __init__(self, session: NetworkSession, broadcast: Broadcast) -> None:
        self._session = session
        self._broadcast = broadcast

    def note(self, terminal: Terminal, command: TypedCommand) -> None:
        """Note a command that has begun or ended."""
        if command.status is not None or not self._session.is_running:
            return
        ports = {port.name for port in self._session.snapshot().ports}
        if port := port_drawn_by(command.line, ports):
            self._broadcast.push(QueueChartPush(port=port))


def port_drawn_by(line: str, ports: Container[str]) -> str:
    """Return the port whose queue a command line draws, or "": "s1-eth2" of "sudo plot_q.sh s1-eth2"."""
    if found := _ARGUMENTS.search(line):
        return next((word for word in found[1].split() if word in ports), "")
    return ""
