"""What may be typed at the prompt, for completion. Standard library only: lines are edited outside.

{"commands": [...], "nodes": [...], "ports": [...],      groups of words
 "after": {"link": ["nodes", "up", "down"]}}             what follows a command: words, or groups
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

Words = dict[str, Any]

FILES = "files"
AFTER_NODE = ["nodes", "ports", FILES]


def suggestions(words: Words, before: str, begun: str) -> list[str]:
    """Words that may stand after `before` and begin like `begun`."""
    previous = before.split()
    if not previous:
        groups = ["commands", "nodes"]
    else:
        groups = words.get("after", {}).get(previous[0], AFTER_NODE)
    known = [word for group in groups if group != FILES for word in words.get(group, [group])]
    fitting = [word for word in dict.fromkeys(known) if word.startswith(begun)]
    return fitting + (_files(begun) if FILES in groups and (begun or not fitting) else [])


def _files(begun: str) -> list[str]:
    before, slash, name = begun.rpartition("/")
    folder = Path(before + slash).expanduser()
    try:
        found = sorted(path for path in folder.iterdir() if path.name.startswith(name))
    except OSError:
        return []
    shown = [path for path in found if name or not path.name.startswith(".")]
    return [f"{before}{slash}{path.name}{'/' * path.is_dir()}" for path in shown]
