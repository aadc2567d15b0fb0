"""Run Mininet for comparison, isolated from the rest of the computer.

Mininet's cleanup kills processes by name and deletes logs in /tmp, whoever owns them. So it runs in
its own PID, mount and network namespaces, with its own /tmp.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

# Mininet raises limits of the whole computer; read-only mounts prevent that.
PRIVATE = """
mount -t tmpfs tmpfs /tmp &&
for part in fs kernel vm; do
    mount --bind /proc/sys/$part /proc/sys/$part && mount -o remount,ro,bind /proc/sys/$part
done &&
ip link set lo up &&
"""
NAMESPACES = ("--fork", "--kill-child", "--pid", "--mount", "--mount-proc", "--net")


def in_private(script: str, *arguments: str) -> list[str]:
    """Return the command that runs a shell script in new namespaces; they end with the command."""
    return ["unshare", *NAMESPACES, "sh", "-c", PRIVATE + script.lstrip(), "sh", *arguments]


def why_no_mininet() -> str | None:
    """Return why Mininet cannot be run here; None if it can."""
    if not shutil.which("mn"):
        return "it is not installed (sudo apt-get install mininet bridge-utils)"
    if not shutil.which("brctl"):
        return "it needs brctl for its bridges (sudo apt-get install bridge-utils)"
    if os.geteuid() != 0:
        return "it needs root"
    attempt = subprocess.run(["unshare", *NAMESPACES, "true"], capture_output=True, check=False)
    return f"no namespaces: {attempt.stderr.decode().strip()}" if attempt.returncode else None


def mininet_version() -> str:
    done = subprocess.run(["mn", "--version"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


class Rows(Protocol):
    """A table of a report."""

    def add(self, **figures: Any) -> None: ...


def add_rows(
    table: Rows,
    ours: Mapping[str, Sequence[Any]],
    theirs: Sequence[Any],
    at_least: float,
    **key: Any,
) -> list[bool]:
    """Add a row for each mode of wanlab with the fastest run of each side, and their ratio.

    `key` begins each row. A run is a dataclass with `whole_s`. Return for each ratio whether it is at
    least `at_least`.
    """
    met = []
    for mode, runs in ours.items():
        row = _row(runs, theirs)
        if "ratio" in row:
            met.append(row["ratio"] >= at_least)
            row |= {"at_least": at_least, "is_met": met[-1]}
        table.add(**key, mode=mode or None, **row)
    return met


def _row(ours: Sequence[Any], theirs: Sequence[Any]) -> dict[str, Any]:
    best = min(ours, key=lambda run: run.whole_s)
    row: dict[str, Any] = vars(best) | {"wholes_s": [round(run.whole_s, 3) for run in ours]}
    if theirs:
        best_mn = min(theirs, key=lambda run: run.whole_s)
        row |= {f"mn_{name}": value for name, value in vars(best_mn).items() if value is not None}
        row["mn_wholes_s"] = [round(run.whole_s, 3) for run in theirs]
        row["ratio"] = best_mn.whole_s / best.whole_s
    return row
