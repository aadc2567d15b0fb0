"""Control groups (version 2): what the processes of a node may use of the processors."""

from __future__ import annotations

import os

GROUPS = "/sys/fs/cgroup"
PERIOD_US = 100_000
LEAST_QUOTA_US = 1_000  # what the kernel takes


class Group:
    """A group of one node. OSError if this system does not let us make one."""

    def __init__(self, node: str, share: float | None, cores: str | None) -> None:
        self._home = GROUPS + _own_group()
        try:
            wanted = [*(["+cpu"] if share is not None else []), *(["+cpuset"] if cores else [])]
            self._folder = self._make(f"wanlab-{os.getpid()}-{node}", " ".join(wanted))
            if share is not None:
                quota_us = max(LEAST_QUOTA_US, round(share * (os.cpu_count() or 1) * PERIOD_US))
                _write(f"{self._folder}/cpu.max", f"{quota_us} {PERIOD_US}")
            if cores is not None:
                _write(f"{self._folder}/cpuset.cpus", cores)
        except OSError as error:
            raise OSError(f"this system's control groups limit no processors: {error}") from None

    def _make(self, name: str, controllers: str) -> str:
        """Below the root of all groups, where that is allowed: others may not hand on what they get
        while processes are in them."""
        try:
            return _make_below(GROUPS, name, controllers)
        except OSError:
            return _make_below(self._home, name, controllers)

    def enter(self) -> None:
        _write(f"{self._folder}/cgroup.procs", "0")

    def leave(self) -> None:
        _write(f"{self._home}/cgroup.procs", "0")


def _make_below(parent: str, name: str, controllers: str) -> str:
    _write(f"{parent}/cgroup.subtree_control", controllers)
    os.mkdir(f"{parent}/{name}")
    return f"{parent}/{name}"


def _own_group() -> str:
    """Of this process, as a path; the root's is empty."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            if line.startswith("0::"):
                return line[3:].strip().rstrip("/")
    raise OSError("control groups of version 2 are not mounted")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
