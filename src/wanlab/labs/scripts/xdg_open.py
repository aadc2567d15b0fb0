"""xdg-open: shows a result on the user's desktop, if there is one; otherwise says where it is.

A machine has no desktop of its own. The user's side is asked to open the file; it sees what is in the
working folder, which both share at the same path, and nothing else.
"""

from __future__ import annotations

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
    """Opens it, or prints where it is."""
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
    """The working folder, as the embedded machine has mounted it; None where all is shared."""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        source, place, *_ = line.split(" ")
        if source == SHARED:
            return Path(place.encode().decode("unicode_escape"))  # a space is \040 there
    return None


if __name__ == "__main__":
    run("xdg-open", USAGE, main)
