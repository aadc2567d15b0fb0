"""Files that a topology names: they are read only from its own folder and below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.input_file import read_input

MAX_FILE_BYTES = 1 << 20
MAX_ELEMENTS = 20_000
"""The largest number of nodes, and of links, that is imported."""

ReadFile = Callable[[str], str | None]
"""Return the text of a file beside the topology; None if it is not there or outside that folder."""


def refuse_too_many(file: str, nodes: int, links: int) -> None:
    """Raise WanlabError for a topology that no machine could carry."""
    if max(nodes, links) > MAX_ELEMENTS:
        raise WanlabError(
            f"{file} has {nodes} nodes and {links} links", f"at most {MAX_ELEMENTS} can be imported"
        )


def text_below(folder: Path, name: str) -> str | None:
    """Return the text of a file in a folder or below; None if there is no such file."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            return None
        return read_input(path, max_bytes=MAX_FILE_BYTES).decode("utf-8")
    except (OSError, ValueError, WanlabError):  # ValueError: no text, or an impossible name
        return None
