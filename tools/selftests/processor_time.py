"""Tells how much processor time a process and its descendants have taken, as in proc(5)."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def seconds_of(root: int) -> float:
    """Return the seconds of a process and its descendants, also of those that were waited for."""
    parents, seconds = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:  # it has ended
                continue
            _state, parent, *rest = stat.rpartition(")")[2].split()
            parents[int(folder.name)] = int(parent)
            # utime, stime, cutime and cstime
            seconds[int(folder.name)] = sum(map(int, rest[9:13])) / _TICKS_PER_S
    return sum(seconds[pid] for pid in seconds if _descends(pid, root, parents))


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid != root and pid in parents:
        pid = parents[pid]
    return pid == root
