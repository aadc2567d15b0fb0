"""The identity of a process: its pid and start time on this computer, in this boot and PID namespace."""

from __future__ import annotations

import os
import platform
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from .user_cache import user_cache_folder

END_REAL_S = 5.0


@dataclass(frozen=True)
class ProcessNote:
    """A process, distinguished by its start time from others with the same pid."""

    pid: int
    start: int

    def is_running(self) -> bool:
        return start_time(self.pid) == self.start

    def kill(self) -> None:
        """Kill the process if it is still the same, and wait until it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_running():  # while we hold the handle, no other process can get this pid
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)
        deadline = time.monotonic() + END_REAL_S
        while self.is_running() and time.monotonic() < deadline:
            time.sleep(0.005)


def note_folders() -> list[Path]:
    """Return the folders that may hold notes of processes; new notes go to the first."""
    folders = []
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        folders.append(Path(runtime) / "wanlab")
    return [*folders, user_cache_folder() / "runs"]


def system_id() -> str:
    """Identify this computer, its boot, and the PID namespace of this process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{_computer_id()} {boot} {Path('/proc/self/ns/pid').stat().st_ino}"


def _computer_id() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip() or platform.node()
    except OSError:
        return platform.node()


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the boot.

    None if it does not exist or is a zombie.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
