"""Test how wanlab ends a kernel that a program has taken over.

The kernel is a script here, which is confined in the same way and does what a hostile one could do.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S

from wanlab.machine.embedded.boot import START_OF_DAY_NS, BootOptions, KernelProcess
from wanlab.machine.embedded.calendar import Calendar
from wanlab.machine.embedded.image import Image
from wanlab.machine.embedded.loop import VirtualLoop
from wanlab.machine.embedded.timetravel import Op

PREAMBLE = f"""
import ctypes, os, signal, socket, struct, sys, time
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
calendar = socket.socket(fileno=int(options["time-travel"].split(":")[-1]))
channel = [socket.socket(fileno=int(number)) for number in options["channel"].split(",")]
def tell(op, time_ns=0):
    calendar.send(struct.pack("<IIQ", op, 1, time_ns))
    calendar.recv(16)
def close():
    for end in (calendar, *channel):
        end.close()
START, REQUEST, WAIT = {Op.START:d}, {Op.REQUEST:d}, {Op.WAIT:d}
"""
LEAVES_A_PROCESS = """
if not os.fork():
    close()
    for leave in (os.setsid, lambda: os.setpgid(0, 0)):
        try:
            leave()
        except OSError:
            pass
    print("pid", os.getpid(), flush=True)
    time.sleep(100)
time.sleep(1)
"""
# The tracer is wanlab, to which waitpid() reports the stop.
LETS_ITSELF_BE_TRACED = """
ctypes.CDLL(None).ptrace(0, 0, 0, 0)
close()
print("pid", os.getpid(), flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
time.sleep(100)
"""
BOOKS_NOTHING = "tell(START)\ntell(REQUEST, 2000)\ntell(WAIT)\ntime.sleep(100)"

StartKernel = Callable[[str], KernelProcess]


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[StartKernel]:
    started = []

    def start(script: str) -> KernelProcess:
        (tmp_path / "script").write_text(PREAMBLE + script)
        program = tmp_path / "linux"
        program.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -ISBc'
            f' "exec(open(\'{tmp_path}/script\').read())" "$@"\n'
        )
        program.chmod(0o755)
        options = BootOptions(
            image=Image(tmp_path, "", "6.12", "6.12"),
            memory_bytes=1 << 20,
            memory_folder=tmp_path,
            working_folder=None,
            cpu=min(os.sched_getaffinity(0)),
            virtual=True,
            seed=1,
            line_rate_mbps=0,
            traps="ptrace",
        )
        started.append(KernelProcess(options))
        return started[-1]

    yield start
    for kernel in started:
        kernel.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition: Callable[[], bool], real_s: float = PATIENCE_S) -> bool:
    deadline = time.monotonic() + real_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("script", [LEAVES_A_PROCESS, LETS_ITSELF_BE_TRACED])
def test_no_process_of_a_kernel_outlives_it(start_kernel: StartKernel, script: str) -> None:
    kernel = start_kernel(script)
    assert until(lambda: "pid" in kernel.console()), kernel.console()
    pid = int(kernel.console().split()[-1])
    kernel.end()
    assert not is_running(kernel.pid)
    assert until(lambda: not is_running(pid)), "it was killed, and takes a moment to end"


def test_a_wait_for_a_kernel_that_books_nothing_can_be_interrupted(
    start_kernel: StartKernel,
) -> None:
    kernel = start_kernel(BOOKS_NOTHING)
    loop = VirtualLoop(kernel.pipes, Calendar(START_OF_DAY_NS), on_data=print, on_stall=print)
    loop.settle()
    loop.send(b"data")
    for _ in range(2):  # the second time, the data has been sent
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            loop.run(1000, lambda: False)
        timer.join()
    loop.close()
