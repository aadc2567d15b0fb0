"""Commands whose arguments are passed on unchanged, to `mn`, Python or the kernel's recipe."""

from __future__ import annotations

from typing import Any

from .usage import PlainUsage

ALL_ARGUMENTS: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
"""Settings of a command that parses nothing itself."""


class PassedOn(PlainUsage):
    """A command that completes its options as it completes its other arguments."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the options' placeholder, which stands for all arguments."""
        return [self.options_metavar or ""]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of the command's only argument."""
        return list(self.params[0].shell_complete(ctx, incomplete))
