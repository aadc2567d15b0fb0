"""Restricts a process for good: which system calls it may make, and which capabilities it has.

The filter is for programs that run as root in a machine and must not reach what lies outside their
sandbox (see `sandbox`). Linux, Documentation/userspace-api/seccomp_filter.rst; capabilities(7).
"""

from __future__ import annotations

import ctypes
import errno
import os

from . import system
from .seccomp_filter import (
    JUMP_IF_ANY_BIT,
    JUMP_IF_EQUAL,
    LOAD,
    RETURN,
    FilterInstruction,
    FilterProgram,
    refusing,
)

_libc = ctypes.CDLL(None, use_errno=True)

_PR_CAPBSET_DROP, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 24, 22, 2
_CAPABILITY_VERSION_3 = 0x20080522
_PRETEND = 0x00050000
"""Return 0 without doing anything."""
_MOUNT_FLAGS = 16 + 3 * 8
"""Offset of mount's fourth argument in struct seccomp_data."""

_MOUNT, _UNMOUNT = 165, 166
_MS_MOVE = 8192
REFUSED_CALLS = {
    "pivot_root": 155, "acct": 163, "swapon": 167, "swapoff": 168, "reboot": 169,
    "init_module": 175, "delete_module": 176, "quotactl": 179, "kexec_load": 246,
    "perf_event_open": 298, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "quotactl_fd": 443,
}  # fmt: skip
DROPPED_CAPABILITIES = {
    "dac_read_search": 2, "sys_module": 16, "sys_rawio": 17, "sys_pacct": 20, "sys_boot": 22,
    "sys_time": 25, "mknod": 27, "mac_override": 32, "mac_admin": 33, "syslog": 34,
    "wake_alarm": 35, "perfmon": 38, "bpf": 39,
}  # fmt: skip


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilityWord(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def restrict() -> None:
    """Restrict the calling process and all that it starts. OSError if the kernel refuses."""
    _drop_capabilities()
    program = _filter()
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "install the seccomp filter")


def _drop_capabilities() -> None:
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    words = (_CapabilityWord * 2)()
    if _libc.capget(ctypes.byref(header), words):
        raise OSError(ctypes.get_errno(), "read the capabilities")
    for number in DROPPED_CAPABILITIES.values():
        if _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0):
            raise OSError(ctypes.get_errno(), f"drop capability {number}")
        word, keep = words[number // 32], ~(1 << number % 32)
        word.effective &= keep
        word.permitted &= keep
        word.inheritable &= keep
    if _libc.capset(ctypes.byref(header), words):
        raise OSError(ctypes.get_errno(), "drop capabilities")


def _filter() -> FilterProgram:
    """Return the program for x86-64.

    A mount that shows files under another name is refused. Others, and unmounting, do nothing and
    report success: `ip netns exec` mounts a /sys of its own, and works without it.
    """
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "the seccomp filter supports only x86-64")
    count = len(REFUSED_CALLS)  # the instructions before the returns: allow, refuse, pretend
    renaming = system.MS_BIND | _MS_MOVE | system.MS_REMOUNT
    return refusing(
        REFUSED_CALLS.values(),
        before=[
            FilterInstruction(JUMP_IF_EQUAL, 0, 2, _MOUNT),
            FilterInstruction(LOAD, 0, 0, _MOUNT_FLAGS),
            FilterInstruction(JUMP_IF_ANY_BIT, count + 2, count + 3, renaming),
            FilterInstruction(JUMP_IF_EQUAL, count + 2, 0, _UNMOUNT),
        ],
        after=[FilterInstruction(RETURN, 0, 0, _PRETEND)],
    )
