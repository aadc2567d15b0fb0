"""Which machines run, noted so that what a killed run leaves can be found again.

A machine ends with the program that started it, however that ends: its channel is closed then. What can
keep it alive is somebody else who holds our end of the channel, such as a process that the program
had forked. So a machine is noted in a file of the user's while it runs:

    {"owner": [pid, start], "machine": [pid, start], "kind": "embedded", "system": "..."}

A process is the one that was noted if its pid and its start (in clock ticks since the kernel's) are
the same, and the note is of this computer (a home may be shared), this boot and this PID namespace:
"system". A note whose owner has ended is stale. Nothing is ever recognised by its name.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

END_REAL_S = 5.0
SUFFIX = ".run"


@dataclass(frozen=True)
class ProcessNote:
    """A process, told apart from later ones with the same pid."""

    pid: int
    start: int

    def is_running(self) -> bool:
        return start_of(self.pid) == self.start

    def kill(self) -> None:
        """Ends it, if it is still the same, and waits until it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_running():  # with its handle in hand: nobody else can get its pid now
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)
        give_up = time.monotonic() + END_REAL_S
        while self.is_running() and time.monotonic() < give_up:
            time.sleep(0.005)


@dataclass(frozen=True)
class Run:
    """A machine that was noted."""

    file: Path
    kind: str
    owner: ProcessNote
    machine: ProcessNote

    @property
    def is_stale(self) -> bool:
        return not self.owner.is_running()

    def clean(self) -> None:
        """Ends what is left of it and forgets it."""
        self.machine.kill()
        forget(self.file)


def note(kind: str, pid: int) -> Path | None:
    """Notes a machine of ours, by its process; None where no file can be made. `forget` it at its end.

    Notes of killed runs of which nothing is left are removed on the way.
    """
    for run in runs():
        if run.is_stale and not run.machine.is_running():
            forget(run.file)
    for former in _of_former_boots():
        forget(former)
    own, start = start_of(os.getpid()), start_of(pid)
    if own is None or start is None:
        return None
    text = json.dumps(
        {
            "owner": [os.getpid(), own],
            "machine": [pid, start],
            "kind": kind,
            "system": system(),
        }
    )
    try:
        folder = folders()[0]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, prefix=f"{os.getpid()}-", suffix=SUFFIX, delete=False
        ) as file:
            file.write(text)
    except OSError:  # a home that cannot be written is no reason not to run
        return None
    return Path(file.name)


def forget(file: Path | None) -> None:
    if file is not None:
        with contextlib.suppress(OSError):
            file.unlink()


def runs() -> Iterator[Run]:
    """All that are noted on this system, those of other programs of the user's included."""
    here = system()
    for file, said in _notes():
        try:
            if said["system"] == here:
                owner, machine = (ProcessNote(*said[who]) for who in ("owner", "machine"))
                yield Run(file, str(said["kind"]), owner, machine)
        except (KeyError, TypeError):  # none of ours
            continue


def _of_former_boots() -> Iterator[Path]:
    """Notes of this computer from before it was started anew."""
    computer, boot, _ = system().split()
    for file, said in _notes():
        words = str(said.get("system")).split()
        if len(words) == 3 and words[0] == computer and words[1] != boot:
            yield file


def _notes() -> Iterator[tuple[Path, dict[str, Any]]]:
    for folder in folders():
        for file in sorted(folder.glob(f"*{SUFFIX}")):
            try:
                said = json.loads(file.read_text(encoding="ascii"))
            except (OSError, ValueError):  # not written to its end
                continue
            if isinstance(said, dict):
                yield file, said


def folders() -> list[Path]:
    """Where notes are: the first is where new ones are made."""
    found = []
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        found.append(Path(runtime) / "wanlab")
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    found.append((base if base.is_absolute() else Path.home() / ".cache") / "wanlab" / "runs")
    return found


def system() -> str:
    """This computer, its boot, and the PID namespace that we are in."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{_computer()} {boot} {Path('/proc/self/ns/pid').stat().st_ino}"


def _computer() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip() or platform.node()
    except OSError:
        return platform.node()


def start_of(pid: int) -> int | None:
    """When a process began; None if there is none, or if it has ended and waits for its parent."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = stat.rpartition(")")[2].split()
    return None if words[0] in "ZX" else int(words[19])
