"""Chooses how the machine's kernel takes over the system calls and page faults of its programs (traps).

In ptrace mode, the kernel traces its programs. In seccomp mode, a program that makes a system call
gets a signal (SIGSYS), and its handler passes the call on to the kernel. Results are the same.

Seccomp mode works where ptrace is forbidden, but a malicious program can take over the machine's
kernel, so it is used only there or on request. Linux has it since 6.16.
See docs/decisions/0040-seccomp-mode.md; Linux, arch/um/kernel/skas/stub.c.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from typing import Literal

from wanlab.errors import RequirementError

from .image import Image

Traps = Literal["ptrace", "seccomp"]

TRAPS_VARIABLE = "WANLAB_TRAPS"
"""The environment variable with the mode to use."""
MODES: tuple[Traps, ...] = ("ptrace", "seccomp")
SECCOMP_MODE_SINCE = (6, 16)
PTRACE_TRACEME = 0


def choose_traps(image: Image) -> Traps:
    """Return the mode of WANLAB_TRAPS; otherwise ptrace, unless this computer forbids it.

    RequirementError if the variable names no mode, or one that the kernel does not have.
    """
    wanted = os.environ.get(TRAPS_VARIABLE, "")
    for mode in MODES:
        if wanted == mode:
            if mode == "seccomp" and not has_seccomp_mode(image):
                raise RequirementError(
                    f"{TRAPS_VARIABLE}=seccomp: Linux {image.name} has no seccomp mode",
                    "choose Linux 7.3: --kernel 7.3",
                )
            return mode
    if wanted:
        raise RequirementError(f"{TRAPS_VARIABLE}={wanted}: must be one of {', '.join(MODES)}")
    if has_seccomp_mode(image) and not _can_trace():
        return "seccomp"
    return "ptrace"


def has_seccomp_mode(image: Image) -> bool:
    return image.version >= SECCOMP_MODE_SINCE


def try_tracing() -> None:
    """Raise OSError if the processes of a machine cannot be traced on this computer."""
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        failed = libc.ptrace(PTRACE_TRACEME, 0, 0, 0) < 0
        os._exit(ctypes.get_errno() if failed else 0)
    status = os.waitpid(child, 0)[1]
    number = os.waitstatus_to_exitcode(status)
    if number:
        raise OSError(abs(number), os.strerror(number) if number > 0 else signal.strsignal(-number))


@functools.cache
def _can_trace() -> bool:
    try:
        try_tracing()
    except OSError:
        return False
    return True
