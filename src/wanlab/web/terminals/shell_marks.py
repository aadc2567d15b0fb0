"""Marks in the output of terminals: which command was typed, and how it ended.

They are those of VS Code's shell integration (OSC 633), which terminals ignore:

    ESC ] 633 ; E ; COMMAND BEL     a command line begins to run
    ESC ] 633 ; D ; STATUS BEL      it has ended: a prompt follows; Mininet's has the status "mininet"

bash writes them with PS0 and PROMPT_COMMAND (`SHELL_ENVIRONMENT`), and Mininet's prompt by itself
(`ENVIRONMENT`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wanlab.units import whole_number

MININET = "mininet"
ENVIRONMENT = {"WANLAB_MARKS": "1"}
SHELL_ENVIRONMENT = {
    **ENVIRONMENT,
    "PS0": r"\e]633;E;$(HISTTIMEFORMAT= history 1)\a",
    # Programs do not inherit these two variables, because Mininet's nodes have shells as well.
    "PROMPT_COMMAND": r"""printf '\e]633;D;%d\a' "$?"; export -n PS0 PROMPT_COMMAND""",
}
INTERRUPT = b"\x03"
"""Ctrl-C."""
MAX_OUTPUT_BYTES = 128 << 10
"""The output kept of a command; the middle of longer output is dropped."""
MAX_MARK_BYTES = 64 << 10
_MARK = re.compile(rb"\x1b\]633;([ED]);([^\x07]*)\x07")
_BEGINNING = re.compile(rb"\x1b(?:\](?:6(?:3(?:3(?:;[^\x07]*)?)?)?)?)?\Z")
_NUMBER = re.compile(r"^\s*\d+\*?\s+")
"""The number of the line in bash's history."""


@dataclass
class TypedCommand:
    """A typed command line: its output so far, and its status once it has ended.

    status    the exit status; at Mininet's prompt, which has none, 0
    """

    line: str
    at_mininet: bool
    output: bytes = b""
    status: int | None = None
    began_ns: int = 0
    """When it began to run, and when it ended, on the network's clock."""
    ended_ns: int | None = None
    opened_prompt: bool = False
    """Whether the command has opened Mininet's prompt, as `sudo mn` does, and still runs."""
    is_interrupted: bool = False
    """Whether Ctrl-C was typed while it ran."""

    def add_output(self, data: bytes) -> None:
        """Keep the beginning and the end of the output."""
        output = self.output + data
        if len(output) > 2 * MAX_OUTPUT_BYTES:
            output = output[:MAX_OUTPUT_BYTES] + output[-MAX_OUTPUT_BYTES:]
        self.output = output


class ShellMarks:
    """Reads the marks in the output of one terminal."""

    def __init__(self) -> None:
        self.at_mininet = False
        """Whether the last prompt was Mininet's."""
        self.running: TypedCommand | None = None
        """The command that runs now."""
        self._pending = b""

    def read(self, data: bytes, now_ns: int = 0) -> Iterator[TypedCommand]:
        """Read the output of an instant; yield commands that have begun or ended, or opened a prompt."""
        self._pending += data
        while mark := _MARK.search(self._pending):
            self._add(self._pending[: mark.start()])
            self._pending = self._pending[mark.end() :]
            text = mark[2].decode(errors="replace")
            if mark[1] == b"E":
                yield self._begin(text, now_ns)
            elif (command := self._end(text, now_ns)) is not None:
                yield command
        beginning = _BEGINNING.search(self._pending)
        end = beginning.start() if beginning else len(self._pending)
        if len(self._pending) - end > MAX_MARK_BYTES:
            end = len(self._pending)
        self._add(self._pending[:end])
        self._pending = self._pending[end:]

    def note_keys(self, keys: bytes) -> None:
        """Note keys that are typed while a command runs."""
        if self.running is not None and INTERRUPT in keys:
            self.running.is_interrupted = True

    def _begin(self, text: str, now_ns: int) -> TypedCommand:
        line = text if self.at_mininet else _NUMBER.sub("", text)
        self.running = TypedCommand(line.strip(), self.at_mininet, began_ns=now_ns)
        return self.running

    def _end(self, status: str, now_ns: int) -> TypedCommand | None:
        self.at_mininet = status == MININET
        command, self.running = self.running, None
        if command is None:
            return None
        if self.at_mininet and not command.at_mininet:
            command.opened_prompt = True
        command.status = 0 if self.at_mininet else whole_number(status) or 0
        command.ended_ns = now_ns
        return command

    def _add(self, data: bytes) -> None:
        if self.running is not None and data:
            self.running.add_output(data)
