"""Reads a file that a user or another file names.

The name may be anything: a folder, a device without end, a name that no file can have.
"""

from __future__ import annotations

from pathlib import Path

from wanlab.errors import WanlabError, reason_of

MAX_BYTES = 64 << 20


def read_input(path: Path, noun: str = "", *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file. Raises WanlabError with the reason if it cannot be read.

    `noun` says in the message what the file should be, as in "the schedule".
    """
    name = f"{noun} {path}".strip()
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise WanlabError(f"cannot read {name}: {reason_of(error)}") from None
    if len(data) > max_bytes:
        raise WanlabError(f"{name} is larger than {max_bytes >> 20} MiB", "is it the right file?")
    return data
