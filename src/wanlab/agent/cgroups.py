"""Control groups (version 2) limit the CPU time of a node's processes."""

from __future__ import annotations

import os

CGROUPS = "/sys/fs/cgroup"
PERIOD_US = 100_000
MIN_QUOTA_US = 1_000  # the kernel refuses less


class ControlGroup:
    """The group of one node. OSError if we are not allowed to make one."""

    def __init__(self, node: str, share: float | None, cores: str | None) -> None:
        self._home = CGROUPS + _own_group()
        try:
            enabled = [*(["+cpu"] if share is not None else []), *(["+cpuset"] if cores else [])]
            self._folder = self._make(f"wanlab-{os.getpid()}-{node}", " ".join(enabled))
            if share is not None:
                quota_us = max(MIN_QUOTA_US, round(share * (os.cpu_count() or 1) * PERIOD_US))
                _write(f"{self._folder}/cpu.max", f"{quota_us} {PERIOD_US}")
            if cores is not None:
                _write(f"{self._folder}/cpuset.cpus", cores)
        except OSError as error:
            raise OSError(f"cannot limit CPU time with cgroups here: {error}") from None

    def _make(self, name: str, controllers: str) -> str:
        """Make a group below the root group or, where that is not allowed, below our own.

        Only the root group may have both processes and subgroups with controllers (cgroups(7)).
        """
        try:
            return _make_below(CGROUPS, name, controllers)
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
    """Return the path of this process's group; empty for the root group."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            if line.startswith("0::"):
                return line[3:].strip().rstrip("/")
    raise OSError("cgroup v2 is not mounted")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
