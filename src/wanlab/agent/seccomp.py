"""Restricts a process for good: which system calls it may make, and which capabilities it has.

The restrictions are for programs that run as root in a machine and must not reach what lies outside
their sandbox (see `sandbox`). Linux, Documentation/userspace-api/seccomp_filter.rst; capabilities(7).

Without CAP_SYS_ADMIN, a process may still enter the network namespaces of nodes: our kernel asks for
CAP_NET_ADMIN instead (kernel/patches/0052).
"""

from __future__ import annotations

import ctypes
import errno
import os

from . import system
from .seccomp_filter import (
    ABSENT,
    ALLOW,
    JUMP_IF_ANY_BIT,
    JUMP_IF_EQUAL,
    PRETEND,
    REFUSE,
    FilterProgram,
    refusing,
    rule,
)

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _SECCOMP_MODE_FILTER = 4, 22, 24, 2
_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITIES = 64

_CLONE, _MOUNT, _UNMOUNT, _UNSHARE, _SETNS, _CLONE3 = 56, 165, 166, 272, 308, 435
_MS_MOVE = 8192
_NEW_NAMESPACES = 0x7E020080
"""All flags of clone(2) that make namespaces."""
REFUSED_CALLS = {
    # reaching into other processes
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "pidfd_getfd": 438, "process_madvise": 440, "process_mrelease": 448,
    # the whole machine
    "syslog": 103, "pivot_root": 155, "acct": 163, "swapon": 167, "swapoff": 168, "reboot": 169,
    "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175,
    "delete_module": 176, "quotactl": 179, "kexec_load": 246, "add_key": 248, "request_key": 249,
    "keyctl": 250, "perf_event_open": 298, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
    "quotactl_fd": 443,
    # files beyond the mounts, and mounts
    "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442,
    # calls that this filter would not see, and a page fault that waits for the program
    "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
}  # fmt: skip
KEPT_CAPABILITIES = {
    "chown": 0, "dac_override": 1, "fowner": 3, "fsetid": 4, "kill": 5, "setgid": 6, "setuid": 7,
    "setpcap": 8, "net_bind_service": 10, "net_broadcast": 11, "net_admin": 12, "net_raw": 13,
    "ipc_lock": 14, "sys_chroot": 18, "lease": 28, "audit_write": 29, "setfcap": 31,
}  # fmt: skip
"""What a program needs that runs as root, acts on files that it sees, and configures networks."""


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilityWord(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def hide_memory() -> None:
    """Let only privileged processes trace this one or read its memory, until it runs a program.

    See PR_SET_DUMPABLE in prctl(2).
    """
    if _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "hide this process's memory")


def restrict() -> None:
    """Restrict the calling process and all that it starts. OSError if the kernel refuses."""
    # Installing a filter takes CAP_SYS_ADMIN, so capabilities go second.
    program = _filter()
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "install the seccomp filter")
    _drop_capabilities()


def _drop_capabilities() -> None:
    """Keep KEPT_CAPABILITIES and no others, whatever this process runs later."""
    kept = set(KEPT_CAPABILITIES.values())
    for number in set(range(_CAPABILITIES)) - kept:
        # The kernel does not know all numbers.
        if _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) and ctypes.get_errno() != errno.EINVAL:
            raise OSError(ctypes.get_errno(), f"drop capability {number}")
    words = (_CapabilityWord * 2)()
    for number in kept:
        words[number // 32].effective |= 1 << number % 32
        words[number // 32].permitted |= 1 << number % 32
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    if _libc.capset(ctypes.byref(header), words):
        raise OSError(ctypes.get_errno(), "drop capabilities")


def _filter() -> FilterProgram:
    """Return the program for x86-64.

    A mount that shows files under another name is refused. Others, unmounting and new mount namespaces
    do nothing and report success: `ip netns exec` mounts a /sys of its own, and works without it.
    clone3(2) has its flags in memory, which a filter cannot read; the C library then uses clone(2).
    """
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "the seccomp filter supports only x86-64")
    renaming = system.MS_BIND | _MS_MOVE | system.MS_REMOUNT
    return refusing(
        REFUSED_CALLS.values(),
        [
            rule(_MOUNT, PRETEND, 3, [(JUMP_IF_ANY_BIT, renaming, REFUSE)]),
            rule(_UNMOUNT, PRETEND),
            rule(
                _SETNS,
                REFUSE,
                1,
                [
                    (JUMP_IF_EQUAL, system.CLONE_NEWNET, ALLOW),
                    (JUMP_IF_EQUAL, system.CLONE_NEWNS, PRETEND),
                ],
            ),
            rule(
                _UNSHARE,
                ALLOW,
                0,
                [
                    (JUMP_IF_EQUAL, system.CLONE_NEWNS, PRETEND),
                    (JUMP_IF_ANY_BIT, _NEW_NAMESPACES, REFUSE),
                ],
            ),
            rule(_CLONE, ALLOW, 0, [(JUMP_IF_ANY_BIT, _NEW_NAMESPACES, REFUSE)]),
            rule(_CLONE3, ABSENT),
        ],
    )
