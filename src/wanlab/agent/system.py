"""System calls for which Python 3.11 has no function. Each OSError names the attempted call."""

from __future__ import annotations

import _socket
import contextlib
import ctypes
import fcntl
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MS_SHARED = 1 << 20

MNT_DETACH = 2

PR_SET_MM, PR_SET_MM_ARG_START, PR_SET_MM_ARG_END = 35, 8, 9

RB_POWER_OFF = 0x4321FEDC

SYSLOG_READ_ALL, SYSLOG_SIZE_BUFFER = 3, 10

SIOCSNODECPU = 0x89D0  # of our kernel

NEXT_NETNS_FILE = "/proc/sys/kernel/random/next_netns"

_SYS_OPEN_TREE, _OPEN_TREE_CLONE, _AT_RECURSIVE, _AT_FDCWD = 428, 1, 0x8000, -100
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def _check(result: int, attempt: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{attempt}: {os.strerror(number)}")


def mount(
    source: str, target: str, kind: str = "", flags: int = 0, options: str | bytes = ""
) -> None:
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        os.fsencode(options) if options else None,
    )
    _check(result, f"mount {kind or source} on {target}")


def unmount(target: str) -> None:
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def pivot_root(new_root: str, put_old: str) -> None:
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    result = _libc.syscall(ctypes.c_long(number), os.fsencode(new_root), os.fsencode(put_old))
    _check(result, f"make {new_root} the root")


def copy_mounts(path: str) -> int:
    """Return a descriptor of a copy of what is mounted at `path` and below. Nobody can mount on it."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    copy: int = _libc.syscall(
        ctypes.c_long(_SYS_OPEN_TREE), _AT_FDCWD, os.fsencode(path), ctypes.c_uint(flags)
    )
    _check(min(copy, 0), f"copy the mounts at {path}")
    return copy


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), f"unshare {flags:#x}")


def name_next_netns(name: str) -> None:
    """Name the next network namespace that this process makes, for our kernel's random numbers.

    They are derived from the seed and this name, so that other nodes do not change them. Another kernel
    has no such file (docs/project/decisions/0032-streams-of-random-numbers.md).
    """
    with contextlib.suppress(FileNotFoundError), open(NEXT_NETNS_FILE, "wb", buffering=0) as file:
        file.write(name.encode())


def set_cpu(table: list[int]) -> None:
    """Give this network namespace processors (our patch 69). OSError if the kernel has no such table."""
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM, 0)
    try:
        fcntl.ioctl(control.fileno(), SIOCSNODECPU, struct.pack(f"={len(table)}I", *table))
    finally:
        control.close()


def setns(descriptor: int, kind: int) -> None:
    _check(_libc.setns(descriptor, kind), f"enter namespace {descriptor}")


def set_host_name(name: str) -> None:
    data = name.encode()
    _check(_libc.sethostname(data, len(data)), f"set host name {name}")


_shown_arguments = ctypes.create_string_buffer(0)


def show_arguments(text: str) -> None:
    """Make /proc and ps show `text` as this process's arguments, which contain paths of the computer.

    The new ones lie above the heap, so the start is moved first (PR_SET_MM in prctl(2)).
    """
    global _shown_arguments
    _shown_arguments = ctypes.create_string_buffer(text.encode())
    start = ctypes.addressof(_shown_arguments)
    for option, address in (
        (PR_SET_MM_ARG_START, start),
        (PR_SET_MM_ARG_END, start + ctypes.sizeof(_shown_arguments)),
    ):
        result = _libc.prctl(PR_SET_MM, option, ctypes.c_ulong(address), 0, 0)
        _check(result, "show other arguments")


def power_off() -> None:
    """Power the machine off. Nothing is written back to disk: call os.sync() first."""
    _check(_libc.reboot(ctypes.c_int(RB_POWER_OFF)), "power off")


def set_realtime_priority() -> None:
    """Run this process, but not those that it starts, before all others (sched_setscheduler(2)).

    Its readings then belong to exactly the instant at which it wakes, and reading does not disturb the
    fair scheduling of the others. If it is not allowed, the priority stays as it is.
    """
    with contextlib.suppress(OSError):
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))


def kernel_log() -> bytes:
    """Return the kernel's messages, as `dmesg` does; nothing where that is not allowed."""
    buffer = ctypes.create_string_buffer(max(1, _libc.klogctl(SYSLOG_SIZE_BUFFER, None, 0)))
    length = _libc.klogctl(SYSLOG_READ_ALL, buffer, len(buffer))
    return buffer.raw[: max(0, length)]
