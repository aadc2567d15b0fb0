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


# Nodes inherit these from the root namespace. Without them, TCP has at most 3 MB in flight, and
# 250 Mbit/s over a round trip of 100 ms. The limits of files, processes and neighbours are the
# machine's own.
BUFFERS = {
    "net.core.wmem_max": 16777216,
    "net.core.rmem_max": 16777216,
    "net.ipv4.tcp_rmem": "10240 87380 16777216",
    "net.ipv4.tcp_wmem": "10240 87380 16777216",
}


def fixLimits() -> None:
    """Give TCP the buffers that Mininet gives it."""
    for name, limit in BUFFERS.items():
        sysctlTestAndSet(name, limit)


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
