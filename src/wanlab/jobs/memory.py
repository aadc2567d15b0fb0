"""Finds out how much memory runs may use on this computer."""

from __future__ import annotations

from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.machine.control_group import available_memory_bytes


def available_bytes() -> int:
    """Return how much memory can be used without swapping (proc(5), MemAvailable), and without
    exceeding the limit of our control group."""
    limited_bytes = available_memory_bytes()
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
            return available if limited_bytes is None else min(available, limited_bytes)
    raise WanlabError("/proc/meminfo does not say how much memory is available")
