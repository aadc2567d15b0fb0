"""A lesson for a terminal: formulas in Unicode, diagrams as boxes, figures by name, and a pager.

The result is Markdown, which rich formats.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import PurePosixPath

from rich.console import Console
from rich.markdown import Markdown
from rich.pager import Pager

from .drawings import as_text
from .formulas import as_line

MAX_WIDTH = 100
"""Longer lines are hard to read."""
_CODE = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\S*\$ .*$", re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DISPLAYED = re.compile(r"^([ ]*)\$\$(.+?)\$\$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"\$\$?([^$]+)\$\$?")
_FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
_SPECIAL = re.compile(r"([\\*_\[\]<>`#])")


def show(markdown: str, command: str, *, is_paged: bool = True) -> None:
    """Show a lesson on the terminal, page by page if it is long.

    `command` shows this lesson; with --figure NAME, it opens a figure.
    """
    width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    console = Console(width=width)
    page = Markdown(for_terminal(markdown, command, width))
    if not is_paged:
        console.print(page)
        return
    with console.pager(pager=ColourPager(), styles=True):
        console.print(page)


def for_terminal(markdown: str, command: str, width: int) -> str:
    """Return Markdown that a terminal can show: no LaTeX, no Mermaid, no images."""

    def diagram(match: re.Match[str]) -> str:
        return f"```text\n{as_text(match[1], width - 2)}\n```"

    parts = _CODE.split(_DIAGRAM.sub(diagram, markdown))
    return "".join(
        _code(part, width - 2) if number % 2 else _prose(part, command)
        for number, part in enumerate(parts)
    )


def _code(text: str, width: int) -> str:
    """Continue commands that are too long with a backslash, so that a copy of both lines runs."""
    if not text.startswith("```console"):
        return text
    return _COMMAND.sub(lambda match: _continued(match[0], width), text)


def _continued(command: str, width: int) -> str:
    lines = []
    while len(command) > width:
        unquoted = _QUOTED.sub(lambda match: "x" * len(match[0]), command)
        end = unquoted.rfind(" ", len(unquoted) - len(unquoted.lstrip()), width - 1)
        if end < width // 2:
            break
        lines.append(f"{command[:end]} \\")
        command = f"    {command[end + 1 :]}"
    return "\n".join([*lines, command])


def _prose(text: str, command: str) -> str:
    """Replace formulas and figures outside of code."""

    def displayed(match: re.Match[str]) -> str:
        return f"\n{match[1]}> {_literal(as_line(match[2]))}\n"

    def inline(match: re.Match[str]) -> str:
        return _literal(as_line(match[1]))

    def figure(match: re.Match[str]) -> str:
        name = PurePosixPath(match[2]).stem
        return f"**Figure:** {match[1]} (`{command} --figure {name}` opens it)"

    return _FIGURE.sub(figure, _INLINE.sub(inline, _DISPLAYED.sub(displayed, text)))


def _literal(text: str) -> str:
    """Escape the characters that Markdown would format."""
    return _SPECIAL.sub(r"\\\1", text)


class ColourPager(Pager):
    """The user's pager. less, Debian's default, shows colours only with the option -R."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment

    def show(self, content: str) -> None:
        """Show the text, or print it if there is no pager."""
        command = shlex.split(self._environment.get("PAGER", "")) or ["less"]
        if shutil.which(command[0], path=self._environment.get("PATH")) is None:
            print(content, end="")
            return
        # less reads this variable however it is started; others ignore it.
        options = f"{self._environment.get('LESS', '')} -R".strip()
        environment = {**self._environment, "LESS": options}
        subprocess.run(command, input=content.encode(), env=environment, check=False)
