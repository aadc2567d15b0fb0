"""A terminal of the machine's in the terminal that we run in."""

from __future__ import annotations

import os
import select
import shutil
import signal
import termios
import tty

from wanlab import Network, Process

CHUNK = 4096
STRIDE_NS = 10_000_000


def attend(network: Network, process: Process) -> int:
    """Passes keys on as they are pressed, until the process ends; returns its status.

    Time is paced to the real clock: somebody is watching.
    """
    before = termios.tcgetattr(0)
    resized = [False]

    def on_resize(*_: object) -> None:
        resized[0] = True

    old_handler = signal.signal(signal.SIGWINCH, on_resize)
    network.pace_to_real()
    tty.setraw(0)
    try:
        while process.is_running:
            if resized[0]:
                resized[0] = False
                size = shutil.get_terminal_size()
                process.resize(size.lines, size.columns)
            if select.select([0], [], [], 0)[0]:
                data = os.read(0, CHUNK)
                if data:
                    process.write(data)
            network.run_until_condition(lambda: not process.is_running, STRIDE_NS)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, old_handler)
    return process.status or 0
