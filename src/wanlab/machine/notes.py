"""Notes of the machines that are running, so that those of killed programs can be found.

A machine ends with the program that started it, however that ends, because its channel is closed then.
Only another process that holds our end of the channel, such as one that the program had forked, can keep
it alive. So while a machine runs, there is a note of it, a file in the user's home folder:

    {"owner": [pid, start], "machine": [pid, start], "kind": "embedded", "system": "..."}

A process is the one in the note if its pid and its start time (in clock ticks since the boot) are the
same, and the note is from this computer (home folders may be shared), this boot and this PID namespace:
"system". A note is stale when its owner has ended. Processes are never recognised by name.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wanlab.process_identity import ProcessNote, note_folders, start_time, system_id

SUFFIX = ".run"


@dataclass(frozen=True)
class MachineNote:
    """The note of a machine, and its file."""

    file: Path
    kind: str
    owner: ProcessNote
    machine: ProcessNote

    @property
    def is_stale(self) -> bool:
        return not self.owner.is_running()

    def clean(self) -> None:
        """Kill the machine and remove the note."""
        self.machine.kill()
        remove(self.file)


def write(kind: str, pid: int) -> Path | None:
    """Write the note of a machine of this program, and return its file; None if that is impossible.

    `pid` is the machine's process. Notes whose program and machine have both ended are removed.
    """
    for note in read_all():
        if note.is_stale and not note.machine.is_running():
            remove(note.file)
    for former in _notes_of_former_boots():
        remove(former)
    own_start, start = start_time(os.getpid()), start_time(pid)
    if own_start is None or start is None:
        return None
    text = json.dumps(
        {
            "owner": [os.getpid(), own_start],
            "machine": [pid, start],
            "kind": kind,
            "system": system_id(),
        }
    )
    try:
        folder = note_folders()[0]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, prefix=f"{os.getpid()}-", suffix=SUFFIX, delete=False
        ) as file:
            file.write(text)
    except OSError:  # a home folder that cannot be written is no reason not to run
        return None
    return Path(file.name)


def remove(file: Path | None) -> None:
    if file is not None:
        with contextlib.suppress(OSError):
            file.unlink()


def read_all() -> Iterator[MachineNote]:
    """Yield the notes of this system, those of the user's other programs included."""
    this_system = system_id()
    for file, content in _contents():
        match content:
            case {
                "system": str(system),
                "owner": [int(owner), int(owner_start)],
                "machine": [int(machine), int(machine_start)],
                "kind": str(kind),
            } if system == this_system:
                yield MachineNote(
                    file,
                    kind,
                    ProcessNote(owner, owner_start),
                    ProcessNote(machine, machine_start),
                )


def _notes_of_former_boots() -> Iterator[Path]:
    """Yield the notes of this computer from before its last boot."""
    computer, boot, _ = system_id().split()
    for file, content in _contents():
        parts = str(content.get("system")).split()
        if len(parts) == 3 and parts[0] == computer and parts[1] != boot:
            yield file


def _contents() -> Iterator[tuple[Path, dict[str, object]]]:
    for folder in note_folders():
        for file in sorted(folder.glob(f"*{SUFFIX}")):
            try:
                content = json.loads(file.read_text(encoding="ascii"))
            except (OSError, ValueError):  # not completely written
                continue
            if isinstance(content, dict):
                yield file, content
