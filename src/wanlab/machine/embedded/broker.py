"""Starts the process that changes the files of the working folder for a machine's kernel.

The kernel's processes may open files for reading only (`confinement`). What programs change in the
working folder, hostfs asks this process for: to open a file for writing, to make, rename and remove
files, to set modes, owners and times. It is the kernel's own program, started in another way, so it has
none of the kernel's memory, and it reaches only what lies below the folder.
Source: fs/hostfs/hostfs_broker.c in kernel/patches/0043.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from .confinement import rules_for_broker

END_REAL_S = 5.0


class Broker:
    """A running broker. It ends when the last copy of `kernel_end` is closed.

    kernel_end   the kernel's end of the socket between them
    """

    def __init__(self, program: Path, folder: Path, cpu: int, stderr: int) -> None:
        """Start the broker on the kernel's CPU. OSError if that is impossible."""
        self.kernel_end, own_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ruleset = rules_for_broker(folder)
        try:
            with own_end:
                self._process = _start(program, own_end.fileno(), folder, ruleset, stderr)
        except BaseException:
            self.kernel_end.close()
            raise
        finally:
            if ruleset is not None:
                os.close(ruleset)
        os.sched_setaffinity(self._process.pid, {cpu})

    @property
    def was_killed(self) -> bool:
        """Whether a signal has ended it: what the kernel asked for since then was not done."""
        return (self._process.poll() or 0) < 0

    def close(self) -> None:
        """Close our copy of `kernel_end`, and wait."""
        self.kernel_end.close()
        self.wait()

    def wait(self) -> None:
        """Wait for its end, and end it if it does not end itself."""
        try:
            self._process.wait(END_REAL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _start(
    program: Path, own_end: int, folder: Path, ruleset: int | None, stderr: int
) -> subprocess.Popen[bytes]:
    root = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    rules = [] if ruleset is None else [ruleset]
    try:
        return subprocess.Popen(
            [program, "--hostfs-broker", *map(str, (own_end, root, *(rules or [-1])))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=[own_end, root, *rules],
            env={},
            umask=0,  # the programs in the machine have their own
            cwd="/",
            start_new_session=True,  # the terminal's Ctrl-C is for wanlab
            restore_signals=False,  # SIGXFSZ stays ignored: who writes too much gets an error instead
        )
    finally:
        os.close(root)
