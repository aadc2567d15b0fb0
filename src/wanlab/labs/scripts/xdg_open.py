"""xdg-open: opens a file on the user's desktop, or says where the file is.

A machine has no desktop, so the host service opens the file. It can see the working folder, which
has the same path on both sides, and nothing else of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from wanlab.errors import RequirementError, WanlabError
from wanlab.network import call_host

from . import one_file, run

USAGE = """usage: xdg-open FILE

Opens the file on your desktop, if there is one; otherwise says where it is."""

SHARED = "working-folder"
MOUNTS = Path("/proc/self/mounts")


def main(arguments: Sequence[str]) -> int:
    path = Path(one_file(arguments).removeprefix("file://"))
    if not path.exists():
        raise WanlabError(f"{path}: there is no such file", f"you are in {Path.cwd()}")
    show(path)
    return 0


def show(path: Path) -> None:
    """Open the file, or print where it is."""
    path = path.resolve()
    folder = shared_folder(MOUNTS)
    if folder is not None and not path.is_relative_to(folder):
        print(f"{path} is in the machine only: copy it to {folder} to see it")
        return
    try:
        answer = call_host({"do": "open", "path": str(path)})
    except RequirementError:
        answer = {}
    if not answer.get("opened"):
        why = answer.get("why") or "there is no desktop to show it on"
        print(f"{path} is ready to be looked at ({why})")


def shared_folder(mounts: Path) -> Path | None:
    """Return the folder that the embedded machine shares; None if all files are shared."""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        source, mount_point, *_ = line.split(" ")
        if source == SHARED:
            # A space is \040 there. The other bytes are those of the name.
            name = mount_point.encode().decode("unicode_escape").encode("latin-1")
            return Path(os.fsdecode(name))
    return None


if __name__ == "__main__":
    run("xdg-open", USAGE, main)
