"""Processor time and memory of all descendants of a process, read from /proc (proc(5)).

The kernel of a machine is one process, with one more for every process inside; Mininet has a shell for
every host.
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
    """Memory of several processes; pages that they share count once."""

    processes: int
    proportional_bytes: int
    largest_resident_bytes: int
    """Resident memory of the largest process; of a machine, that is its kernel."""
    largest_shared_bytes: int
    """The part of it in shared memory files; of a machine, its memory file."""


def family(ancestor: int) -> list[int]:
    """Return all descendants of a process, without the process itself."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields:
            children.setdefault(int(fields[PARENT]), []).append(pid)
    descendants = list(children.get(ancestor, []))
    for pid in descendants:  # the loop extends the list
        descendants += children.get(pid, [])
    return descendants


def cpu_s(pids: Iterable[int]) -> float:
    """Return the processor time of these processes and of their children that have ended."""
    ticks = 0
    for pid in pids:
        fields = _stat(pid)
        if fields:
            ticks += sum(int(fields[index]) for index in (UTIME, STIME, CUTIME, CSTIME))
    return ticks / TICKS_PER_SECOND


def memory(pids: Iterable[int]) -> Memory:
    """Return the memory that these processes use now."""
    proportional, resident, shared, processes = 0, 0, 0, 0
    for pid in pids:
        try:
            mapped = _sizes(PROC / str(pid) / "smaps_rollup")
            status = _sizes(PROC / str(pid) / "status")
        except OSError:  # the process has ended
            continue
        processes += 1
        proportional += mapped.get("Pss", 0)
        if status.get("VmRSS", 0) > resident:
            resident, shared = status["VmRSS"], status.get("RssShmem", 0)
    return Memory(processes, proportional, resident, shared)


def _pids() -> list[int]:
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none if the process has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _sizes(path: Path) -> dict[str, int]:
    """Return the values of lines such as "Name:  12 kB", in bytes."""
    sizes = {}
    for line in path.read_text(errors="replace").splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith(" kB"):
            sizes[name] = int(rest.split()[0]) * 1024
    return sizes
