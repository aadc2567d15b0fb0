"""Chooses how the machine's kernel takes over the system calls and page faults of its programs (traps).

    ptrace     the kernel traces its programs
    inprocess  the kernel runs in the processes of its programs, which makes traps many times faster;
               code that has made a system call is replaced by a jump (not in inprocess-nopatch)
    seccomp    a program that makes a system call gets a signal (SIGSYS), and its handler passes the
               call on to the kernel; works where ptrace is forbidden; since Linux 6.16

Results are the same in all modes. In the last two, a malicious program can take over the machine's
kernel. So they need what protects the user's files from a kernel that was taken over (`confinement`),
and programs whose results others must trust run in ptrace mode (`protecting_mode`).
See docs/project/decisions/0044-in-process-mode.md; Linux,
arch/um/kernel/skas/stub.c; kernel/patches, "um: run the kernel in the programs' own processes".
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from collections.abc import Iterable
from typing import get_args

from wanlab.errors import RequirementError, did_you_mean

from .. import Clock
from ..defaults import TRAPS_VARIABLE, user_default
from ..traits import Traps
from .confinement import landlock_version
from .image import Image
from .resources import too_low_limit

MODES: tuple[Traps, ...] = get_args(Traps)
IN_PROCESS: tuple[Traps, ...] = ("inprocess", "inprocess-nopatch")
SETTINGS = f"--traps, traps= or {TRAPS_VARIABLE}"
ANOTHER_MODE = f"leave out the mode ({SETTINGS})"
SECCOMP_MODE_SINCE = (6, 16)
IN_PROCESS_OPTION = "CONFIG_UML_INPROC=y"
IN_PROCESS_BYTES = 1088 << 20
"""What is behind the machine's memory in the memory file: the kernel's image, and its tables of jumps,
which use little of the 1 GiB that is reserved for them."""
PTRACE_TRACEME = 0
PR_SET_SYSCALL_USER_DISPATCH = 59


def choose_traps(
    image: Image, clock: Clock = "virtual", wanted: str = "", memory_bytes: int = 0
) -> Traps:
    """Return the mode `wanted`, or that of WANLAB_TRAPS; otherwise the best one that is possible.

    RequirementError if there is no such mode, or if it is impossible with this kernel, clock and memory
    or on this computer.
    """
    mode = read_mode(wanted) if wanted else chosen_mode() or _best_mode(image, clock, memory_bytes)
    if obstacle := _obstacle(mode, image, clock, memory_bytes):
        raise obstacle
    return mode


def chosen_mode() -> Traps | None:
    """Return the mode that WANLAB_TRAPS names. RequirementError if there is no such mode."""
    name = user_default().traps
    return read_mode(name) if name else None


def _best_mode(image: Image, clock: Clock, memory_bytes: int) -> Traps:
    if not why_not_in_process(image, clock, memory_bytes):
        return "inprocess"
    return "seccomp" if has_seccomp_mode(image) and not _can_trace() else "ptrace"


def read_mode(text: str) -> Traps:
    """Return the mode of this name. RequirementError if there is none."""
    for mode in MODES:
        if text == mode:
            return mode
    raise RequirementError(f"traps {text}: there is no such mode", did_you_mean(text, MODES))


def protecting_mode(what: str, wanted: str = "") -> Traps:
    """Return the mode in which no program can take over the machine's kernel.

    RequirementError if another mode is `wanted`, or else if WANLAB_TRAPS names one; `what` says what
    cannot be done then.
    """
    mode = read_mode(wanted) if wanted else chosen_mode() or "ptrace"
    if mode == "ptrace":
        return mode
    raise RequirementError(
        f"{what} in {NAMES[mode]} mode: programs could take over their machine's kernel",
        f"{ANOTHER_MODE}, or choose ptrace",
    )


def other_mode(image: Image) -> Traps:
    """Return the mode besides ptrace in which this kernel can run here, on virtual time.

    RequirementError if there is none.
    """
    mode: Traps = "seccomp" if has_seccomp_mode(image) else "inprocess"
    if obstacle := _obstacle(mode, image):
        raise obstacle
    return mode


def why_not_in_process(image: Image, clock: Clock = "virtual", memory_bytes: int = 0) -> str:
    """Return why this kernel cannot run in its programs' processes on this computer; "" if it can."""
    error = _obstacle("inprocess", image, clock, memory_bytes)
    return "" if error is None else error.what.partition(": ")[2]


def refuse_unconfined(mode: Traps, missing: Iterable[str]) -> None:
    """RequirementError if Landlock could not be used for a machine whose kernel needs it."""
    if mode != "ptrace" and "landlock" in missing:
        raise RequirementError(
            f"{NAMES[mode]} mode: Landlock cannot be used here, so nothing would protect your files "
            "from programs in a network",
            "choose ptrace: --traps ptrace",
        )


def has_in_process_mode(image: Image) -> bool:
    try:
        return IN_PROCESS_OPTION in image.config.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False


def has_seccomp_mode(image: Image) -> bool:
    return image.version >= SECCOMP_MODE_SINCE


NAMES: dict[Traps, str] = {
    "ptrace": "ptrace",
    "inprocess": "in-process",
    "inprocess-nopatch": "in-process",
    "seccomp": "seccomp",
}
"""The names of the modes in sentences."""


def _obstacle(
    mode: Traps, image: Image, clock: Clock = "virtual", memory_bytes: int = 0
) -> RequirementError | None:
    """Return the error that explains why a mode is impossible; None if it is possible.

    Whether ptrace is allowed is not asked: the kernel says so when it boots.
    """
    if mode == "ptrace":
        return None
    is_in_process = mode in IN_PROCESS
    if mode == "seccomp" and not has_seccomp_mode(image):
        reason, remedy = f"the kernel {image.name} does not have it", "use Linux 7.3: --kernel 7.3"
    elif is_in_process and not has_in_process_mode(image):
        reason, remedy = f"the kernel {image.name} does not have it", "use wanlab's Linux 6.12"
    elif is_in_process and clock == "real":
        reason, remedy = "it needs virtual time", "leave out the real clock"
    elif not landlock_version():
        reason = "without Landlock, nothing would protect your files from programs in a network"
        remedy = "use Linux 5.13 or newer with Landlock enabled"
    elif is_in_process and not _has_user_dispatch():
        reason, remedy = "this computer's kernel lacks syscall user dispatch", "use Linux 5.11"
    elif is_in_process and (low := too_low_limit(memory_bytes + IN_PROCESS_BYTES)):
        reason, remedy = low.what, low.hint
    else:
        return None
    return RequirementError(f"{NAMES[mode]} mode: {reason}", f"{remedy}, or {ANOTHER_MODE}")


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
def _has_user_dispatch() -> bool:
    # Switches it off, which it is anyway. This fails if the computer does not have it.
    return int(ctypes.CDLL(None).prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0)) == 0


@functools.cache
def _can_trace() -> bool:
    try:
        try_tracing()
    except OSError:
        return False
    return True
