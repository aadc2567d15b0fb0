"""Chooses how the machine's kernel takes over the system calls and page faults of its programs (traps).

In ptrace mode, the kernel traces its programs. In seccomp mode, a program that makes a system call
gets a signal (SIGSYS), and its handler passes the call on to the kernel. Results are the same.

Seccomp mode works where ptrace is forbidden, but a malicious program can take over the machine's
kernel, so it is used only there or on request, and only if Landlock protects the user's files. Linux
has it since 6.16.
See docs/decisions/0040-seccomp-mode.md; Linux, arch/um/kernel/skas/stub.c.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from typing import Literal

from wanlab.errors import RequirementError

from .confinement import landlock_version
from .image import Image

Traps = Literal["ptrace", "seccomp"]

TRAPS_VARIABLE = "WANLAB_TRAPS"
"""The environment variable with the mode to use."""
MODES: tuple[Traps, ...] = ("ptrace", "seccomp")
SECCOMP_MODE_SINCE = (6, 16)
PTRACE_TRACEME = 0


def choose_traps(image: Image) -> Traps:
    """Return the mode of WANLAB_TRAPS; otherwise ptrace, unless this computer forbids it.

    RequirementError if the variable's value is not a mode, or if seccomp mode is not possible with
    this kernel or on this computer.
    """
    wanted = os.environ.get(TRAPS_VARIABLE, "")
    if wanted and wanted not in MODES:
        raise RequirementError(f"{TRAPS_VARIABLE}={wanted}: must be one of {', '.join(MODES)}")
    if wanted == "ptrace" or (not wanted and (not has_seccomp_mode(image) or _can_trace())):
        return "ptrace"
    if not has_seccomp_mode(image):
        raise RequirementError(
            f"{TRAPS_VARIABLE}=seccomp: the kernel {image.name} has no seccomp mode",
            "use Linux 7.3: --kernel, kernel= or WANLAB_KERNEL",
        )
    if not landlock_version():
        raise RequirementError(
            "without ptrace and without Landlock, nothing would protect your files from programs in "
            "a network",
            "allow ptrace, or use Linux 5.13 or newer with Landlock enabled",
        )
    return "seccomp"


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
