"""Completion at the prompt.

Standard library only, because lines are edited outside the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict


class Words(TypedDict, total=False):
    """The words that completion offers at the prompt, in groups, and those for each command."""

    commands: list[str]
    nodes: list[str]
    switches: list[str]
    ports: list[str]
    after: dict[str, list[str]]
    """For each command, the words that may follow, or names of groups: {"link": ["nodes", "up"]}."""


FILES = "files"
AFTER_NODE = ["nodes", "ports", FILES]


def suggestions(words: Words, before: str, prefix: str) -> list[str]:
    """Return the words that may follow `before` and start with `prefix`."""
    previous = before.split()
    if not previous:
        groups = ["commands", "nodes"]
    else:
        groups = words.get("after", {}).get(previous[0], AFTER_NODE)
    known = [word for group in groups if group != FILES for word in _members(words, group)]
    matching = [word for word in dict.fromkeys(known) if word.startswith(prefix)]
    return matching + (_files(prefix) if FILES in groups and (prefix or not matching) else [])


def _members(words: Mapping[str, object], group: str) -> list[str]:
    """Return the words of a group; a word that is no group stands for itself."""
    members = words.get(group)
    return members if isinstance(members, list) else [group]


def _files(prefix: str) -> list[str]:
    before, slash, name = prefix.rpartition("/")
    folder = Path(before + slash).expanduser()
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.startswith(name))
    except OSError:
        return []
    visible = [path for path in paths if name or not path.name.startswith(".")]
    return [f"{before}{slash}{path.name}{'/' * path.is_dir()}" for path in visible]
