"""Run a command, and end it and all its children when the program that started this one ends.

    python3 guard.py PID COMMAND...

PID is the program's. It starts this one in a new session, so that the children are one process group.
PR_SET_PDEATHSIG alone would end the command, but not its children: make runs shells, and they compilers.
Standard library only and no import from the package, because it runs as a program.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

GRACE_S = 5.0


def main() -> int:
    pid = int(sys.argv[1])
    parent = os.pidfd_open(pid)
    if os.getppid() != pid:  # the pid has been reused
        return 1
    # The group is ended by this signal; only this process is to live until the command has ended.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    command = subprocess.Popen(sys.argv[2:])
    handle = os.pidfd_open(command.pid)
    if handle not in select.select([parent, handle], [], [])[0]:
        os.killpg(0, signal.SIGTERM)  # compilers remove their temporary files
        select.select([handle], [], [], GRACE_S)
        os.killpg(0, signal.SIGKILL)
    status = command.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
