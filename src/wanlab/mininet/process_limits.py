"""Rights and limits of the script's process, and parameters of the kernel."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from .mn_arguments import makeNumeric


def ensureRoot() -> None:
    """End the program if it is not root; inside a machine it always is."""
    if os.getuid() != 0:
        print("*** Mininet must run as root.")
        sys.exit(1)


def fixLimits() -> None:
    """Do nothing: the limits of a machine are set when it starts."""


def rlimitTestAndSet(name: int, limit: int) -> None:
    """Raise a limit of this process to at least `limit`."""
    soft, hard = resource.getrlimit(name)
    if soft < limit:
        resource.setrlimit(name, (limit, max(limit, hard)))


def sysctlTestAndSet(name: str, limit: object) -> None:
    """Set a kernel parameter, unless it is a number that is at least `limit`."""
    file = Path(name if name.startswith("/proc") else f"/proc/sys/{name.replace('.', '/')}")
    before = makeNumeric(file.read_text(encoding="ascii").strip())
    if not isinstance(before, int) or not isinstance(limit, int) or before < limit:
        file.write_text(str(limit), encoding="ascii")


def mountCgroups(cgcontrol: str = "") -> str:
    """Return the mount point of control groups; the machine has mounted them."""
    return "/sys/fs/cgroup"


def numCores() -> int:
    return os.cpu_count() or 1
