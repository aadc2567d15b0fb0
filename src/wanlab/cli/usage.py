"""Usage lines in the notation of man pages: FILE is required, [FILE] is optional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

Function = TypeVar("Function", bound=Callable[..., Any])


class PlainUsage(TyperCommand):
    """A command whose usage line names a required argument FILE, where Typer writes {FILE}."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the command's name."""
        return [
            piece[1:-1] if piece.startswith("{") else piece
            for piece in super().collect_usage_pieces(ctx)
        ]


GROUPS = {
    "Networks": ("web", "mn", "python", "exec", "plan", "import", "replay"),
    "Measure": ("test", "capture", "drops", "top", "plot"),
    "Experiments": ("run", "sweep", "reproduce"),
    "Course": ("lab",),
    "Installation": ("docs", "doctor", "kernel", "cpu", "clean", "version", "help"),
}
"""The commands in the order of `wanlab --help`."""


class GroupedCommands(TyperGroup):
    """The group of all commands, whose help lists them by topic."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of the help."""
        return [name for names in GROUPS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list for each topic."""
        width = max(map(len, self.commands))
        for topic, names in GROUPS.items():
            limit = formatter.width - 6 - width
            rows = [(name, self.commands[name].get_short_help_str(limit)) for name in names]
            with formatter.section(topic):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])


class Commands(typer.Typer):
    """A group of commands, each with such a usage line."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Return Typer's decorator."""
        return super().command(name, **{"cls": PlainUsage, **settings})
