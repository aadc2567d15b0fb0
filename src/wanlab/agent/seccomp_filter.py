"""Filters of system calls for x86-64, as programs of classic BPF.

Linux, Documentation/userspace-api/seccomp_filter.rst; include/uapi/linux/{filter,seccomp}.h.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
PRETEND, ABSENT = 0x00050000, 0x00050000 | errno.ENOSYS
"""Return 0 without doing anything; answer as a kernel that does not have the call."""
_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
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


Test = tuple[int, int, int]
"""JUMP_IF_EQUAL or JUMP_IF_ANY_BIT, the value, and what to return if it holds."""


def rule(
    call: int, otherwise: int, argument: int = 0, tests: Sequence[Test] = ()
) -> list[FilterInstruction]:
    """Return instructions that decide about one call: the first test that holds, or `otherwise`.

    The tests are of the low 32 bits of an argument, which is counted from 0.
    """
    body = []
    if tests:
        body.append(FilterInstruction(LOAD, 0, 0, _ARGUMENTS + 8 * argument))
    for kind, value, result in tests:
        body.append(FilterInstruction(kind, 0, 1, value))
        body.append(FilterInstruction(RETURN, 0, 0, result))
    body.append(FilterInstruction(RETURN, 0, 0, otherwise))
    return [FilterInstruction(JUMP_IF_EQUAL, 0, len(body), call), *body]


def refusing(
    calls: Iterable[int], rules: Iterable[Sequence[FilterInstruction]] = ()
) -> FilterProgram:
    """Return a program that refuses these calls and x32 calls with EPERM and allows all others.

    A process that makes calls of another architecture is killed. The `rules` decide first: each is the
    result of `rule`.
    """
    numbers = sorted(calls)
    count = len(numbers)
    before = [instruction for instructions in rules for instruction in instructions]
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
    ]
    return _program(instructions)


class ArgumentTest(NamedTuple):
    """A test of the lower 32 bits of a system call's argument, which is counted from 0.

    kind   "in": one of the values; "not in": none of them; "without": no bit of the first value is set
    """

    argument: int
    kind: Literal["in", "not in", "without"]
    values: tuple[int, ...]


def allowing(
    calls: Iterable[int], tested: Mapping[int, Sequence[Sequence[ArgumentTest]]]
) -> FilterProgram:
    """Return a program that allows these calls, and refuses all others with EPERM.

    A call in `tested` is allowed if all tests of one of its alternatives succeed. x32 calls are refused;
    a process that makes calls of another architecture is killed.
    """
    numbers = sorted(calls)
    instructions = [
        FilterInstruction(LOAD, 0, 0, _ARCHITECTURE),
        FilterInstruction(JUMP_IF_EQUAL, 1, 0, _AUDIT_ARCH_X86_64),
        FilterInstruction(RETURN, 0, 0, KILL),
        FilterInstruction(LOAD, 0, 0, _NUMBER),
        FilterInstruction(JUMP_IF_AT_LEAST, 0, 1, _X32_BIT),
        FilterInstruction(RETURN, 0, 0, REFUSE),
    ]
    for number, alternatives in tested.items():
        block = [instruction for tests in alternatives for instruction in _alternative(tests)]
        block.append(FilterInstruction(RETURN, 0, 0, REFUSE))
        instructions += [FilterInstruction(JUMP_IF_EQUAL, 0, len(block), number), *block]
    instructions += [
        *(
            FilterInstruction(JUMP_IF_EQUAL, len(numbers) - index, 0, number)
            for index, number in enumerate(numbers)
        ),
        FilterInstruction(RETURN, 0, 0, REFUSE),
        FilterInstruction(RETURN, 0, 0, ALLOW),
    ]
    return _program(instructions)


def _alternative(tests: Sequence[ArgumentTest]) -> list[FilterInstruction]:
    """Return instructions that allow the call if all tests succeed, and continue behind them if not."""
    instructions = [FilterInstruction(RETURN, 0, 0, ALLOW)]
    for test in reversed(tests):
        failed = len(instructions)  # how many instructions a failing test skips
        values = [value & 0xFFFFFFFF for value in test.values]
        match test.kind:
            case "without":
                checks = [FilterInstruction(JUMP_IF_ANY_BIT, failed, 0, values[0])]
            case "not in":
                checks = [
                    FilterInstruction(JUMP_IF_EQUAL, failed + left, 0, value)
                    for left, value in zip(reversed(range(len(values))), values, strict=True)
                ]
            case "in":
                checks = [
                    FilterInstruction(JUMP_IF_EQUAL, left, 0 if left else failed, value)
                    for left, value in zip(reversed(range(len(values))), values, strict=True)
                ]
        load = FilterInstruction(LOAD, 0, 0, _ARGUMENTS + 8 * test.argument)
        instructions = [load, *checks, *instructions]
    return instructions


def _program(instructions: Sequence[FilterInstruction]) -> FilterProgram:
    return FilterProgram(len(instructions), (FilterInstruction * len(instructions))(*instructions))
