"""The processes that a process started, theirs included: what they take of the computer.

Read from /proc, for a process and everything below it: the kernel of a machine is one process with one
more for every process inside; Mininet has a shell for every host.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PARENT, UTIME, STIME, CUTIME, CSTIME = 1, 11, 12, 13, 14  # /proc/PID/stat, after the name


@dataclass(frozen=True)
class Memory:
    """What a family has in memory; pages that several of them map count once."""

    processes: int
    proportional_bytes: int
    largest_resident_bytes: int
    """Of the largest of them; the kernel's own, for a machine."""
    largest_shared_bytes: int
    """Its part in shared memory files; for a machine, of its memory file."""


def family(ancestor: int) -> list[int]:
    """The processes below one, without itself."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields:
            children.setdefault(int(fields[PARENT]), []).append(pid)
    found = list(children.get(ancestor, []))
    for pid in found:  # grows
        found += children.get(pid, [])
    return found


def cpu_s(pids: Iterable[int]) -> float:
    """Processor time that these and those of their children that have ended took."""
    ticks = 0
    for pid in pids:
        fields = _stat(pid)
        if fields:
            ticks += sum(int(fields[place]) for place in (UTIME, STIME, CUTIME, CSTIME))
    return ticks / TICKS_PER_SECOND


def memory(pids: Iterable[int]) -> Memory:
    """As of now."""
    proportional, resident, shared, processes = 0, 0, 0, 0
    for pid in pids:
        try:
            mapped = _sizes(PROC / str(pid) / "smaps_rollup")
            status = _sizes(PROC / str(pid) / "status")
        except OSError:  # it has ended meanwhile
            continue
        processes += 1
        proportional += mapped.get("Pss", 0)
        if status.get("VmRSS", 0) > resident:
            resident, shared = status["VmRSS"], status.get("RssShmem", 0)
    return Memory(processes, proportional, resident, shared)


def _pids() -> list[int]:
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; none if it has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _sizes(path: Path) -> dict[str, int]:
    """Lines "Name:  12 kB", in bytes."""
    sizes = {}
    for line in path.read_text(errors="replace").splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith(" kB"):
            sizes[name] = int(rest.split()[0]) * 1024
    return sizes
