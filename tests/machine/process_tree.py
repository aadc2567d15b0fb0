"""Find the processes that a test, or the program that it tests, has started."""

from __future__ import annotations

from pathlib import Path


def children(parent: int) -> dict[int, str]:
    """Map the ids of a process's children, also adopted ones, to their command lines.

    Zombies are left out.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, of, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_text().replace("\0", " ").strip()
            # A process with an empty command line has no memory any more: it is about to end.
            if int(of) == parent and state != "Z" and words:
                found[int(entry.name)] = words
        except OSError:  # it ended in the meantime
            continue
    return found
