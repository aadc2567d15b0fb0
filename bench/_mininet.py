"""Mininet beside ours: whether it can be run here, and how it is kept from harming anybody.

Its cleanup kills processes by name and deletes logs in /tmp, whoever they belong to. So it runs in PID,
mount and network namespaces of its own, with its own /tmp.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

# It raises limits of the whole computer, too; here it shall not.
PRIVATE = """
mount -t tmpfs tmpfs /tmp &&
for part in fs kernel vm; do
    mount --bind /proc/sys/$part /proc/sys/$part && mount -o remount,ro,bind /proc/sys/$part
done &&
ip link set lo up &&
"""
NAMESPACES = ("--fork", "--kill-child", "--pid", "--mount", "--mount-proc", "--net")


def in_private(script: str, *words: str) -> list[str]:
    """The command that runs a script of the shell there, with `words` as its arguments. With it ends all
    that is in its namespaces."""
    return ["unshare", *NAMESPACES, "sh", "-c", PRIVATE + script.lstrip(), "sh", *words]


def why_no_mininet() -> str | None:
    """None if it can be compared."""
    if not shutil.which("mn"):
        return "it is not installed (sudo apt-get install mininet bridge-utils)"
    if not shutil.which("brctl"):
        return "it needs brctl for its bridges (sudo apt-get install bridge-utils)"
    if os.geteuid() != 0:
        return "it needs root"
    tried = subprocess.run(["unshare", *NAMESPACES, "true"], capture_output=True, check=False)
    return f"no namespaces: {tried.stderr.decode().strip()}" if tried.returncode else None


def mininet_version() -> str:
    done = subprocess.run(["mn", "--version"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def row_of(ours: Sequence[Any], theirs: Sequence[Any]) -> dict[str, Any]:
    """The fastest run of each side, and how they compare. A run is a dataclass with `whole_s`."""
    best = min(ours, key=lambda run: run.whole_s)
    row: dict[str, Any] = vars(best) | {"wholes_s": [round(run.whole_s, 3) for run in ours]}
    if theirs:
        their = min(theirs, key=lambda run: run.whole_s)
        row |= {f"mn_{name}": value for name, value in vars(their).items() if value is not None}
        row["mn_wholes_s"] = [round(run.whole_s, 3) for run in theirs]
        row["ratio"] = their.whole_s / best.whole_s
    return row
