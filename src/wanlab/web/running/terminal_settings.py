"""Remember the settings that terminals make in a running network, for the drawing."""

from __future__ import annotations

from wanlab.errors import WanlabError

from ..broadcast import Broadcast
from ..drawing.drawn_settings import described, settings_of, subject_of, with_settings
from ..drawing.editor import DocumentEditor
from ..protocol import commands
from ..protocol.model import DrawnNode
from ..protocol.settings import SettingsPush
from ..terminals.shell_marks import TypedCommand
from ..terminals.terminals import CLIENT, PROMPT, Terminal
from .session import NetworkSession


class TerminalSettings:
    """The settings of the running network, by node. Used in the server's loop."""

    def __init__(
        self, session: NetworkSession, editor: DocumentEditor, broadcast: Broadcast
    ) -> None:
        self._session = session
        self._editor = editor
        self._broadcast = broadcast
        self._settings: dict[str, dict[str, str]] = {}
        """Commands by node and by the subject of the setting. The node "" has settings of no node."""

    def snapshot(self) -> SettingsPush:
        """Return the settings as browsers receive them."""
        ports = self._session.snapshot().ports
        return SettingsPush(
            settings=tuple(
                described(self._node(id_), line, ports)
                for id_, lines in self._settings.items()
                for line in lines.values()
            )
        )

    def clear(self) -> None:
        """Forget all, since the network is gone."""
        if self._settings:
            self._settings.clear()
            self._broadcast.push(self.snapshot())

    def note(self, terminal: Terminal, command: TypedCommand) -> None:
        """Note a command that has succeeded."""
        if command.status != 0 or not self._session.is_running:
            return
        place, line = terminal.node, command.line
        if command.at_mininet:
            name, _, line = line.strip().partition(" ")
            place = self._id_of(name)
        found = settings_of(line)
        for setting in found:
            at = self._id_of_port(setting) if place in (CLIENT, PROMPT) else place
            self._settings.setdefault(at, {})[subject_of(setting)] = setting
        if found:
            self._broadcast.push(self.snapshot())

    def take(self, command: commands.TakeSettingsCommand, by: str) -> None:
        """Draw a node with its settings from terminals."""
        node = self._node(command.node)
        lines = self._settings.get(command.node, {})
        ports = self._session.snapshot().ports
        drawn = [line for line in lines.values() if described(node, line, ports).drawn_as]
        if node is None or not drawn:
            raise WanlabError("no setting made in a terminal here can be copied into the drawing")
        elements = with_settings(self._editor.document, node, drawn, ports)
        label = f"Copy terminal settings of {node.name}"
        self._editor.edit(commands.EditCommand(put=elements, label=label), by)
        if (branch := self._session.branch) is not None:
            branch.plan = branch.plan.with_elements(elements)
        self._settings[node.id] = {key: line for key, line in lines.items() if line not in drawn}
        self._broadcast.push(self.snapshot())

    def _node(self, id_: str) -> DrawnNode | None:
        return next((node for node in self._editor.document.nodes if node.id == id_), None)

    def _id_of(self, name: str) -> str:
        return next((node.id for node in self._editor.document.nodes if node.name == name), "")

    def _id_of_port(self, setting: str) -> str:
        """Return the node whose port a command of the root namespace names, or ""."""
        words = set(setting.split())
        ports = self._session.snapshot().ports
        return next((port.node for port in ports if port.name in words), "")
