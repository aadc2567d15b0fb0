"""Names the files that programs in a machine wrote outside the working folder, or keeps them."""

from __future__ import annotations

import sys
from pathlib import Path

from wanlab import Network
from wanlab.errors import RequirementError

MAX_NAMED = 5


def check_keep_folder(text: str, option: str = "--keep-files") -> str:
    """Return the folder's path. RequirementError if programs in the machine cannot write there."""
    folder = Path(text)
    target = folder.resolve()
    if not text or not target.is_relative_to(Path.cwd()) or target == Path.cwd():
        raise RequirementError(
            f"{option} {text}: the folder must be below the current one, the only one that the machine "
            "can change",
            f"for example {option} results",
        )
    if folder.exists() and not folder.is_dir():
        raise RequirementError(f"{option} {text}: this is a file", "name a folder")
    return str(target)


def report(network: Network, keep: str) -> None:
    """Say which files are lost with the machine, or copy them to the folder `keep`, if it is given."""
    if not network.is_running or network.options.traits.is_shared:
        return
    options = network.options
    seen = Path(options.guest_folder, Path(keep).relative_to(options.folder)) if keep else ""
    files = network.machine.agent.written_files(str(seen))
    if not files:
        return
    count = f"{len(files)} file{'s' if len(files) > 1 else ''}"
    names = ", ".join(name for name, _ in files[:MAX_NAMED])
    if len(files) > MAX_NAMED:
        names += ", ..."
    if keep:
        print(f"wanlab: kept {count} in {keep}: {names}", file=sys.stderr)
    else:
        print(
            f"wanlab: {count} outside this folder {'are' if len(files) > 1 else 'is'} lost: {names} "
            "(to keep such files: --keep-files FOLDER)",
            file=sys.stderr,
        )
