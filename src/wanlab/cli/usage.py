"""Usage lines in the notation of man pages: FILE is required, [FILE] is optional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

Function = TypeVar("Function", bound=Callable[..., Any])


class PlainUsage(TyperCommand):
    """A command whose usage line names a required argument FILE, where Typer writes {FILE}."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the command's name."""
        return [
            piece[1:-1] if piece.startswith("{") else piece
            for piece in super().collect_usage_pieces(ctx)
        ]


class Commands(typer.Typer):
    """A group of commands, each with such a usage line."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Return Typer's decorator."""
        return super().command(name, **{"cls": PlainUsage, **settings})
