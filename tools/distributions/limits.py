#!/usr/bin/env python3
"""Runs a command under the limits that containers and hardened computers set.

    limits.py --docker --yama 2 -- wanlab doctor

--docker       the system calls that Docker's default seccomp profile refuses without capabilities;
               as root also: no capabilities, 64 MB in /dev/shm, a read-only file system except for
               the current folder and /tmp, and 1 CPU and 2 GB by control group
--yama N       what kernel.yama.ptrace_scope=N refuses to a process without capabilities
--personality  refuse personality(ADDR_NO_RANDOMIZE)
--huge-pages always|never   (as root) transparent huge pages of the whole computer, put back afterwards

The limits are those of the kernel itself, set as Docker sets them; no Docker is needed. Settings of the
whole computer are restored when the command has ended. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# x86-64 calls that Docker's default profile allows only with a capability, or never
# (moby, profiles/seccomp/default.json).
REFUSED_BY_DOCKER = {
    "syslog": 103, "uselib": 134, "ustat": 136, "sysfs": 139, "vhangup": 153, "pivot_root": 155,
    "_sysctl": 156, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
    "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171,
    "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238,
    "get_mempolicy": 239, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "migrate_pages": 256, "unshare": 272, "move_pages": 279, "perf_event_open": 298,
    "fanotify_init": 300, "open_by_handle_at": 304, "setns": 308, "kcmp": 312,
    "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "set_mempolicy_home_node": 450, "lsm_get_self_attr": 459, "lsm_set_self_attr": 460,
    "lsm_list_modules": 461,
}  # fmt: skip
SOCKET, CLONE, PTRACE, PERSONALITY, CLONE3 = 41, 56, 101, 135, 435
NEW_NAMESPACES = 0x7E020000
AF_ALG, AF_VSOCK = 38, 40
ALLOWED_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE = 0, 16, 0x4206
ADDR_NO_RANDOMIZE = 0x0040000

LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENT_0 = 0, 4, 16  # offsets in struct seccomp_data
X86_64 = 0xC000003E
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 38, 22, 24
LAST_CAPABILITY = 63
NEW_MOUNTS = 0x20000
CPUS, MEMORY_BYTES, SHM_BYTES = 1, 2 << 30, 64 << 20
CGROUPS = Path("/sys/fs/cgroup")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

Instruction = tuple[int, int, int, int]
_libc = ctypes.CDLL(None, use_errno=True)


def refuse_call(number: int, code: int = errno.EPERM) -> list[Instruction]:
    """Return instructions that refuse a system call; the accumulator holds the number."""
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | code)]


def refuse_argument(number: int, test: int, values: Sequence[int]) -> list[Instruction]:
    """Refuse a call if its first argument passes a test with one of the values."""
    tests = [(test, len(values) - index, 0, value) for index, value in enumerate(values)]
    body = [(LOAD, 0, 0, ARGUMENT_0), *tests, (RETURN, 0, 0, ALLOW)]
    return [
        (EQUAL, 0, len(body) + 1, number),
        *body,
        (RETURN, 0, 0, REFUSE | errno.EPERM),
    ]


def allow_only(number: int, values: Sequence[int]) -> list[Instruction]:
    """Refuse a call unless its first argument is one of the values."""
    tests = [(EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    body = [(LOAD, 0, 0, ARGUMENT_0), *tests, (RETURN, 0, 0, REFUSE | errno.EPERM)]
    return [(EQUAL, 0, len(body) + 1, number), *body, (RETURN, 0, 0, ALLOW)]


def program(*, docker: bool, yama: int, personality: bool) -> list[Instruction]:
    """Return the filter. Calls of other architectures pass."""
    rules: list[Instruction] = []
    # Yama: 1 lets descendants be attached to, which a filter cannot see; 2 and 3 refuse both ways.
    requests = {0: (), 1: (PTRACE_ATTACH, PTRACE_SEIZE)}.get(
        yama, (PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE)
    )
    if requests:
        rules += refuse_argument(PTRACE, EQUAL, requests)
    if personality:
        rules += refuse_argument(PERSONALITY, EQUAL, [ADDR_NO_RANDOMIZE])
    if docker:
        for number in REFUSED_BY_DOCKER.values():
            rules += refuse_call(number)
        rules += refuse_call(CLONE3, errno.ENOSYS)
        rules += refuse_argument(CLONE, ANY_BIT, [NEW_NAMESPACES])
        rules += refuse_argument(SOCKET, EQUAL, [AF_ALG, AF_VSOCK])
        rules += allow_only(PERSONALITY, ALLOWED_PERSONALITIES)
    return [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, X86_64),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, NUMBER),
        *rules,
        (RETURN, 0, 0, ALLOW),
    ]


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def install(instructions: Sequence[Instruction]) -> None:
    """Apply a filter to this process and everything that it starts."""
    array = (_Instruction * len(instructions))(
        *(_Instruction(*instruction) for instruction in instructions)
    )
    _call(_libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(_libc.prctl, PR_SET_SECCOMP, 2, ctypes.byref(_Filter(len(array), array)), 0, 0)


def _call(function: object, *arguments: object) -> None:
    assert callable(function)
    if function(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def shrink_file_systems() -> None:
    """In a mount namespace: all read-only except the current folder and /tmp, 64 MB in /dev/shm."""
    here = str(Path.cwd())
    _call(_libc.unshare, NEW_MOUNTS)
    mounts = [
        ["--make-rprivate", "/"],
        ["--bind", here, here],
        ["-t", "tmpfs", "-o", "size=256m,mode=1777", "tmp", "/tmp"],
        ["-t", "tmpfs", "-o", f"size={SHM_BYTES},mode=1777", "shm", "/dev/shm"],
        ["-o", "remount,bind,ro", "/"],
    ]
    if here.startswith("/tmp/"):
        raise SystemExit("limits.py: /tmp is replaced; work in another folder")
    for arguments in mounts:
        subprocess.run(["mount", *arguments], check=True)
    os.chdir(here)


def drop_capabilities() -> None:
    """Give up all capabilities, as root in a container with --cap-drop ALL."""
    for capability in range(LAST_CAPABILITY + 1):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _call(_libc.capset, header, (ctypes.c_uint32 * 6)())


@contextlib.contextmanager
def limited_group() -> Iterator[list[Path]]:
    """Make a control group of 1 CPU and 2 GB; yield the files that take a process's number."""
    name = f"wanlab-limits-{os.getpid()}"
    if (CGROUPS / "cgroup.controllers").exists():  # version 2
        (CGROUPS / "cgroup.subtree_control").write_text("+cpu +memory")
        groups = {
            CGROUPS / name: {"memory.max": MEMORY_BYTES, "cpu.max": f"{CPUS * 100000} 100000"}
        }
    else:
        groups = {
            CGROUPS / "memory" / name: {"memory.limit_in_bytes": MEMORY_BYTES},
            CGROUPS / "cpu" / name: {"cpu.cfs_quota_us": CPUS * 100000},
        }
    try:
        for folder, limits in groups.items():
            folder.mkdir()
            for file, value in limits.items():
                (folder / file).write_text(str(value))
        yield [folder / "cgroup.procs" for folder in groups]
    finally:
        for folder in groups:
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def huge_pages(wanted: str | None) -> Iterator[None]:
    """Switch transparent huge pages, and back at the end."""
    if wanted is None:
        yield
        return
    before = HUGE_PAGES.read_text().partition("[")[2].partition("]")[0]
    HUGE_PAGES.write_text(wanted)
    try:
        yield
    finally:
        HUGE_PAGES.write_text(before)


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="limits.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--docker", action="store_true")
    parser.add_argument("--yama", type=int, choices=range(4), default=0)
    parser.add_argument("--personality", action="store_true")
    parser.add_argument("--huge-pages", choices=("always", "never"))
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    instructions = program(
        docker=options.docker, yama=options.yama, personality=options.personality
    )
    contained = options.docker and os.geteuid() == 0

    def prepare() -> None:
        if contained:
            for file in group:
                file.write_text(str(os.getpid()))
            shrink_file_systems()
            drop_capabilities()
        install(instructions)

    with contextlib.ExitStack() as stack:
        stack.enter_context(huge_pages(options.huge_pages))
        group = stack.enter_context(limited_group()) if contained else []
        return subprocess.run(options.command, preexec_fn=prepare, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
