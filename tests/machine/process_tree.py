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


def kernels(parent: int) -> set[int]:
    """Return the kernels of machines that are children of a process."""
    return {pid for pid, words in children(parent).items() if "memory_file=" in words}


def descendants(ancestor: int) -> set[int]:
    """Return the ids of all processes below a process, also of zombies."""
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text(errors="replace")
        except OSError:  # it ended in the meantime
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        below.setdefault(parent, []).append(int(path.parent.name))
    found: set[int] = set()
    waiting = [ancestor]
    while waiting:
        pids = below.get(waiting.pop(), [])
        found.update(pids)
        waiting += pids
    return found
