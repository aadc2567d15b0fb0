"""Measure the processor time of a command with all its processes, by a control group (cgroups(7)).

A process's own times leave out children that nobody has waited for, and a machine's kernel may run in
any of its processes. Needs root.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
# Version 1 with the controller cpuacct, and version 2
PARENTS = (ROOT / "cpuacct", ROOT)
LIMIT_S = 10.0
JOIN = 'echo $$ > "$0"/cgroup.procs && exec "$@"'


def why_no_control_group() -> str | None:
    """Return why processor time cannot be measured by a control group; None if it can."""
    if os.geteuid() != 0:
        return "it needs root"
    try:
        cpu_of(["true"])
    except OSError as error:
        return f"no control groups: {error}"
    return None


def cpu_of(command: Sequence[str]) -> tuple[float, str]:
    """Run a command to its end; return the processor time of all its processes, and its output.

    CalledProcessError if it fails.
    """
    parent = next(path for path in PARENTS if (path / "cgroup.procs").exists())
    group = Path(tempfile.mkdtemp(prefix="wanlab-bench-", dir=parent))
    try:
        done = subprocess.run(
            ["sh", "-c", JOIN, str(group), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        _wait_until_empty(group)
        return _used_s(group), done.stdout
    finally:
        _wait_until_empty(group)
        group.rmdir()


def _wait_until_empty(group: Path) -> None:
    """Wait for processes that were killed, but are still there."""
    end = time.monotonic() + LIMIT_S
    while (group / "cgroup.procs").read_text(encoding="ascii") and time.monotonic() < end:
        time.sleep(0.01)


def _used_s(group: Path) -> float:
    try:
        return int((group / "cpuacct.usage").read_text(encoding="ascii")) / 1e9
    except FileNotFoundError:
        fields = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return int(fields["usage_usec"]) / 1e6
