"""The memory limit of our control group: that of a container, a batch job or a systemd unit.

/proc/meminfo shows the whole computer, whatever the limit. Each group above ours limits us, too.
Sources: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWN_GROUPS = Path("/proc/self/cgroup")
MOUNTS = Path("/sys/fs/cgroup")
UNLIMITED_BYTES = 1 << 60  # version 1 writes nearly 2^63


@dataclass(frozen=True)
class MemoryGroup:
    """A control group with a memory limit."""

    folder: Path
    limit_bytes: int
    used_bytes: int
    """Without the cached files, which the kernel gives up when memory is needed."""

    @property
    def available_bytes(self) -> int:
        return max(0, self.limit_bytes - self.used_bytes)

    def count_kills(self) -> int:
        """Return how many processes the kernel has killed because of this limit."""
        for name in ("memory.events", "memory.oom_control"):
            counts = _numbers(self.folder / name)
            if "oom_kill" in counts:
                return counts["oom_kill"]
        return 0


def memory_groups(own: Path = OWN_GROUPS, mounts: Path = MOUNTS) -> list[MemoryGroup]:
    """Return our control group and those above it, as far as they limit memory."""
    return [group for folder in _folders(own, mounts) if (group := _group(folder))]


def available_memory_bytes() -> int | None:
    """Return how much memory our control groups still allow; None if they do not limit it."""
    return min((group.available_bytes for group in memory_groups()), default=None)


def _folders(own: Path, mounts: Path) -> Iterator[Path]:
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            roots = [mounts, mounts / "unified"]
        elif "memory" in controllers.split(","):
            roots = [mounts / "memory"]
        else:
            continue
        for root in roots:
            # In a container the path may be that of the host; its own group is then the root.
            parts = Path(path.lstrip("/"))
            yield from (root / parent for parent in [parts, *parts.parents])


def _group(folder: Path) -> MemoryGroup | None:
    for limit, usage, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit_bytes, used_bytes = _number(folder / limit), _number(folder / usage)
        if limit_bytes is not None and used_bytes is not None and limit_bytes < UNLIMITED_BYTES:
            cached_bytes = _numbers(folder / "memory.stat").get(cached, 0)
            return MemoryGroup(folder, limit_bytes, max(0, used_bytes - cached_bytes))
    return None


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is no file, or "max" in it."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _numbers(path: Path) -> dict[str, int]:
    """Return the numbers in a file with a name and a number in each line."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    words = [line.split() for line in lines]
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}
