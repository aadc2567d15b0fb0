"""Filters of system calls for x86-64, as programs of classic BPF.

Linux, Documentation/userspace-api/seccomp_filter.rst; include/uapi/linux/{filter,seccomp}.h.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterable, Sequence

LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_NUMBER, _ARCHITECTURE = 0, 4
"""Offsets in struct seccomp_data."""


class FilterInstruction(ctypes.Structure):
    """struct sock_filter. Jumps count the instructions to skip."""

    _fields_ = [
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class FilterProgram(ctypes.Structure):
    """struct sock_fprog, for prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ...)."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(FilterInstruction))]


def refusing(
    calls: Iterable[int],
    before: Sequence[FilterInstruction] = (),
    after: Sequence[FilterInstruction] = (),
) -> FilterProgram:
    """Return a program that refuses these calls and x32 calls with EPERM and allows all others.

    A process that makes calls of another architecture is killed. The instructions `before` run first,
    with the call's number loaded. They may jump to the instructions at the end: allow, refuse, and
    those of `after`.
    """
    numbers = sorted(calls)
    count = len(numbers)
    instructions = [
        FilterInstruction(LOAD, 0, 0, _ARCHITECTURE),
        FilterInstruction(JUMP_IF_EQUAL, 1, 0, _AUDIT_ARCH_X86_64),
        FilterInstruction(RETURN, 0, 0, KILL),
        FilterInstruction(LOAD, 0, 0, _NUMBER),
        FilterInstruction(JUMP_IF_AT_LEAST, len(before) + count + 1, 0, _X32_BIT),
        *before,
        *(
            FilterInstruction(JUMP_IF_EQUAL, count - index, 0, number)
            for index, number in enumerate(numbers)
        ),
        FilterInstruction(RETURN, 0, 0, ALLOW),
        FilterInstruction(RETURN, 0, 0, REFUSE),
        *after,
    ]
    return FilterProgram(len(instructions), (FilterInstruction * len(instructions))(*instructions))
