"""The system calls of the computer that the processes of a machine's kernel may make.

Everything else is refused, and of some calls certain arguments. What is allowed reads files, or acts on
the process itself, its children, and descriptors that it has. So whatever code runs in these processes,
it changes no file by its path, no mode, owner, time, extended attribute or lock, attaches to no process,
and changes no limit or priority of another one. It stays in its process group, by which `boot` ends it.
It signals only its first process, unless the kernel needs more (`Image.signals_children`).

A program in the machine that calls the computer's vsyscall page does so past the machine's kernel: the
three calls of that page (time, gettimeofday, getcpu) are refused, or it would see the computer's time.

Files of the working folder are changed by a process that is not the kernel's (fs/hostfs/hostfs_broker.c
in kernel/patches). Numbers are those of x86-64; seccomp(2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wanlab.agent.seccomp_filter import ArgumentTest, FilterProgram, allowing

ALLOWED_CALLS = {
    # descriptors
    "read": 0, "write": 1, "close": 3, "poll": 7, "lseek": 8, "pread64": 17, "pwrite64": 18,
    "readv": 19, "writev": 20, "pipe": 22, "select": 23, "dup": 32, "dup2": 33, "fsync": 74,
    "fdatasync": 75, "ftruncate": 77, "epoll_create": 213, "epoll_wait": 232, "epoll_ctl": 233,
    "pselect6": 270, "ppoll": 271, "epoll_pwait": 281, "signalfd": 282, "timerfd_create": 283,
    "eventfd": 284, "fallocate": 285, "timerfd_settime": 286, "timerfd_gettime": 287,
    "signalfd4": 289, "eventfd2": 290, "epoll_create1": 291, "dup3": 292, "pipe2": 293,
    "preadv": 295, "pwritev": 296, "memfd_create": 319, "preadv2": 327, "pwritev2": 328,
    "close_range": 436, "epoll_pwait2": 441,
    # inherited sockets
    "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47, "shutdown": 48, "getsockname": 51,
    "getsockopt": 55,
    # reading files
    "stat": 4, "fstat": 5, "lstat": 6, "access": 21, "getdents": 78, "getcwd": 79, "readlink": 89,
    "statfs": 137, "fstatfs": 138, "getdents64": 217, "fadvise64": 221, "newfstatat": 262,
    "readlinkat": 267, "faccessat": 269, "statx": 332, "faccessat2": 439,
    # memory
    "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "mremap": 25, "msync": 26, "mincore": 27,
    "madvise": 28, "membarrier": 324, "pkey_mprotect": 329, "pkey_alloc": 330, "pkey_free": 331,
    # signals, time and waiting
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pause": 34, "nanosleep": 35,
    "getitimer": 36, "alarm": 37, "setitimer": 38, "times": 100,
    "rt_sigpending": 127, "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "sigaltstack": 131,
    "futex": 202, "restart_syscall": 219, "timer_create": 222, "timer_settime": 223,
    "timer_gettime": 224, "timer_getoverrun": 225, "timer_delete": 226, "clock_gettime": 228,
    "clock_getres": 229, "clock_nanosleep": 230,
    # this process and its children
    "sched_yield": 24, "getpid": 39, "fork": 57, "vfork": 58, "execve": 59, "exit": 60,
    "wait4": 61, "uname": 63, "getrlimit": 97, "getrusage": 98, "sysinfo": 99,
    "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "getpgrp": 111,
    "getgroups": 115, "getpgid": 121, "getsid": 124, "personality": 135,
    "modify_ldt": 154, "arch_prctl": 158, "setrlimit": 160, "gettid": 186,
    "sched_getaffinity": 204, "set_tid_address": 218, "exit_group": 231,
    "waitid": 247, "set_robust_list": 273, "seccomp": 317, "getrandom": 318,
    "execveat": 322, "rseq": 334, "landlock_create_ruleset": 444, "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}  # fmt: skip

# O_ACCMODE (its value 3 too), O_CREAT, O_TRUNC, O_APPEND, and the bit of O_TMPFILE
_OPENING_FOR_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
_PTRACE_ATTACH, _PTRACE_SEIZE = 16, 0x4206
# F_DUPFD, F_{GET,SET}FD, F_{GET,SET}FL, F_GETOWN, F_{SET,GET}SIG, F_DUPFD_CLOEXEC, F_{ADD,GET}_SEALS
_DESCRIPTOR_COMMANDS = (0, 1, 2, 3, 4, 9, 10, 11, 1030, 1033, 1034)
_F_SETOWN = 8
_FIONREAD, _FIONBIO, _TCGETS = 0x541B, 0x5421, 0x5401
# CLONE_NEW*, and CLONE_PARENT, which would give a child to wanlab
_NEW_NAMESPACES = 0x7E020000 | 0x8000
_AF_UNIX = 1
_KILL, _TKILL, _TGKILL = 62, 200, 234
# The bit that tells SOCK_DGRAM and SOCK_RAW from SOCK_STREAM: a datagram can be sent to any socket that
# has a path, such as that of the system's log.
_DATAGRAM = 2
# Options of prctl(2) for the process itself: PR_{SET,GET}_{PDEATHSIG,DUMPABLE,NAME,SECCOMP,TIMERSLACK,
# NO_NEW_PRIVS,TSC}, PR_SET_SYSCALL_USER_DISPATCH, PR_SET_VMA
_OPTIONS = (1, 2, 3, 4, 15, 16, 21, 22, 25, 26, 29, 30, 38, 39, 59, 0x53564D41)

Alternatives = Sequence[Sequence[ArgumentTest]]


def _tested_calls(pid: int) -> Mapping[int, Alternatives]:
    """Return, by number, when a call is allowed: if all tests of one of its alternatives succeed."""
    return {
        101: [[ArgumentTest(0, "not in", (_PTRACE_ATTACH, _PTRACE_SEIZE))]],  # ptrace
        257: [[ArgumentTest(2, "without", (_OPENING_FOR_WRITING,))]],  # openat
        2: [[ArgumentTest(1, "without", (_OPENING_FOR_WRITING,))]],  # open
        72: [  # fcntl: no locks or leases, and signals about a descriptor only to the kernel
            [ArgumentTest(1, "in", _DESCRIPTOR_COMMANDS)],
            [ArgumentTest(1, "in", (_F_SETOWN,)), ArgumentTest(2, "in", (pid,))],
        ],
        16: [[ArgumentTest(1, "in", (_FIONREAD, _FIONBIO, _TCGETS))]],  # ioctl
        53: [  # socketpair
            [ArgumentTest(0, "in", (_AF_UNIX,)), ArgumentTest(1, "without", (_DATAGRAM,))]
        ],
        56: [[ArgumentTest(0, "without", (_NEW_NAMESPACES,))]],  # clone
        157: [[ArgumentTest(0, "in", _OPTIONS)]],  # prctl
        302: [[ArgumentTest(0, "in", (0,))]],  # prlimit64
    }


def host_calls_filter(pid: int, *, signals_children: bool = False) -> FilterProgram:
    """Return the filter for the processes of a kernel whose first process is `pid`.

    `signals_children`: the kernel signals its other processes. The filter cannot tell whose a process
    is, so it then allows all signals.
    """
    if signals_children:
        allowed = [*ALLOWED_CALLS.values(), _KILL, _TKILL, _TGKILL]
        return allowing(allowed, _tested_calls(pid))
    to_itself = {_KILL: [[ArgumentTest(0, "in", (pid,))]]}
    return allowing(ALLOWED_CALLS.values(), {**_tested_calls(pid), **to_itself})
