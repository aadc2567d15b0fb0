"""Which programs wait for a line of a terminal, in this computer's own kernel."""

import fcntl
import os
import platform
import shlex
import signal
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import PATIENCE_S

from wanlab.agent.terminal_readers import readers, waits_for_input

PYTHON = shlex.quote(sys.executable)

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not Path("/proc/self/syscall").exists(),
    reason="this kernel does not tell in which system calls programs wait",
)

WAITING = {
    "cat": "cat",
    "a line in a shell": "read x",
    "input()": f"{PYTHON} -c 'input()'",
    "select": f"{PYTHON} -c 'import select; select.select([0, 1], [], [])'",
    "poll": f"{PYTHON} -c 'import select as s; p = s.poll(); p.register(0, 1); p.poll()'",
    "epoll": f"{PYTHON} -c 'import select as s; p = s.epoll(); p.register(0, 1); p.poll()'",
    "a thread": f"{PYTHON} -c 'import threading; threading.Thread(target=input).start()'",
    "a program below a shell": "cat; true",
}
OTHERS = {
    "sleep": "sleep 100",
    "a pipe": "sleep 100 | cat",
    "a job in the background": "set -m; cat & sleep 100",
    "output only": f"{PYTHON} -c 'import select; select.select([], [1], [], 0); "
    "select.select([], [], [], 100)'",
    "another file": "cat < /dev/zero | sleep 100",
}


@contextmanager
def program(command: str) -> Iterator[tuple[int, int]]:
    """Run a command in a terminal of its own: (the terminal's master, its process ID)."""
    master, slave = os.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        ["bash", "-c", command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=take_terminal,
    )
    try:
        yield master, process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("command", WAITING.values(), ids=WAITING)
def test_a_program_that_waits_for_a_line_is_found(command: str) -> None:
    with program(command) as (master, _):
        end = time.monotonic() + PATIENCE_S
        while not waits_for_input(master):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.parametrize("command", OTHERS.values(), ids=OTHERS)
def test_a_program_that_waits_for_something_else_is_not(command: str) -> None:
    with program(command) as (master, _):
        time.sleep(0.3)
        assert not waits_for_input(master)


def test_a_program_that_passes_keys_on_does_not_count() -> None:
    with program(f"exec {PYTHON} -c 'import os; os.read(0, 1)'") as (master, pid):
        end = time.monotonic() + PATIENCE_S
        while list(readers(master)) != [pid]:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert waits_for_input(master)
        tty.setraw(master)
        assert not waits_for_input(master)
