"""Confines the processes of a machine, so that nothing inside it can change the computer.

Everybody inside a machine is root there, and the kernel acts for them with the rights of the user
who started it; a program may even take the kernel over. Two layers protect the computer, each of which
the kernel's processes can neither undo nor escape:

* Landlock (Linux 5.13 and newer, no root needed): they may read files everywhere but in /dev,
  write nowhere, make no files, reach no TCP port, trace no other processes, and signal none (since
  Linux 6.12).
* A seccomp filter: of the computer's system calls they may make only those that `host_calls` lists. None
  of them opens a file for writing, or changes a name, mode, owner, time or lock, or signals another
  process (on Linux 7.3, it may).

A process that is not the kernel's changes the files of the working folder for it (`broker`). Landlock
keeps that process to the folder.

A program that starts machines for others can confine itself first (`confine_files`): a machine may then
do only what both allow.
See wanlab docs security; Linux, Documentation/userspace-api/landlock.rst and seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .host_calls import host_calls_filter

_libc = ctypes.CDLL(None, use_errno=True)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 38, 22
_SECCOMP_MODE_FILTER = 2

# Access rights to files, in the order of their bits, and the Landlock version that introduced each.
_RIGHTS = {
    name: (bit, version)
    for bit, (name, version) in enumerate(
        [
            ("execute", 1),
            ("write_file", 1),
            ("read_file", 1),
            ("read_dir", 1),
            ("remove_dir", 1),
            ("remove_file", 1),
            ("make_char", 1),
            ("make_dir", 1),
            ("make_reg", 1),
            ("make_sock", 1),
            ("make_fifo", 1),
            ("make_block", 1),
            ("make_sym", 1),
            ("refer", 2),
            ("truncate", 3),
            ("ioctl_dev", 5),
        ]
    )
}
_READ = frozenset({"execute", "read_file", "read_dir"})
_DEVICES = frozenset({"make_char", "make_block", "ioctl_dev"})
_WRITE = frozenset(_RIGHTS) - _DEVICES
_TERMINAL = frozenset({"read_file", "read_dir", "write_file", "ioctl_dev"})
# What the process of a class's student needs.
_DEVICE_FILES = (("/dev/ptmx", _TERMINAL), ("/dev/pts", _TERMINAL), ("/dev/null", _TERMINAL))

_TCP_VERSION, _TCP_RIGHTS = 4, 0b11
SIGNALS_VERSION = 6
"""The version of Landlock that keeps a process from signalling others."""
_SCOPES = 0b11  # abstract UNIX sockets, signals


@cache
def _folders() -> tuple[str, ...]:
    """Return what / contains but for devices; / itself if this process may not list it.

    Listed once, before this process confines itself (`confine_files`).
    """
    try:
        return (*(str(path) for path in Path("/").iterdir() if path.name != "dev"), "/dev/shm")
    except PermissionError:
        return ("/",)


class _RulesetAttributes(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


PARTS = ("no_new_privs", "landlock", "seccomp")
"""The parts of a confinement. Old kernels lack Landlock; a container may forbid any part."""


def landlock_version() -> int:
    """Return the version of Landlock that this computer's kernel offers; 0 if there is none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)))


@dataclass(frozen=True)
class Confinement:
    """A restriction that is prepared in this process and applied in the kernel's before it starts.

    `ruleset` is a descriptor, or None where the computer has no Landlock.
    `signals_children`: see `host_calls_filter`.
    """

    ruleset: int | None
    signals_children: bool = False

    def apply(self) -> list[str]:
        """Restrict the calling process for good, as far as this computer allows.

        Return the members of PARTS that are missing. Runs between fork and exec.
        """
        missing = []
        program = host_calls_filter(os.getpid(), signals_children=self.signals_children)
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            missing.append("no_new_privs")
        if self.ruleset is None or _libc.syscall(_RESTRICT_SELF, self.ruleset, 0):
            missing.append("landlock")
        if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
            missing.append("seccomp")
        return missing

    def close(self) -> None:
        if self.ruleset is not None:
            os.close(self.ruleset)


def prepare_confinement(*, signals_children: bool = False) -> Confinement:
    """Allow reading everywhere but in /dev, and writing nowhere.

    A program that reads from a terminal of the user takes what was typed there, and opening a device
    can have an effect: it starts a watchdog. Files can be in /dev/shm.
    """
    rules = [("/", frozenset({"read_dir"})), *((path, _READ) for path in _folders())]
    return Confinement(_ruleset(rules), signals_children)


def rules_for_broker(folder: Path) -> int | None:
    """Return a descriptor of Landlock rules: reading everywhere, changing files below the folder.

    None where the computer has no Landlock.
    """
    return _ruleset([("/", _READ), (str(folder), _WRITE)])


def confine_files(readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Restrict the calling thread, and all threads and processes that it starts, for good.

    They may read below the first folders, read and write below the second, and connect to no TCP
    port. Return whether this computer has Landlock; without it, nothing is restricted.
    """
    _folders()
    rules = [
        *((str(folder), _READ) for folder in readable),
        *_DEVICE_FILES,
        *((str(folder), _WRITE) for folder in writable),
    ]
    ruleset = _ruleset(rules)
    if ruleset is None:
        return False
    try:
        return not (
            _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            or _libc.syscall(_RESTRICT_SELF, ruleset, 0)
        )
    finally:
        os.close(ruleset)


def _ruleset(rules: Iterable[tuple[str, frozenset[str]]]) -> int | None:
    """Return a descriptor of Landlock rules for paths; None where the computer has no Landlock."""
    version = landlock_version()
    if not version:
        return None
    rights = {name: 1 << bit for name, (bit, since) in _RIGHTS.items() if since <= version}
    attributes = _RulesetAttributes(
        files=sum(rights.values()),
        network=_TCP_RIGHTS if version >= _TCP_VERSION else 0,
        scopes=_SCOPES if version >= SIGNALS_VERSION else 0,
    )
    ruleset = int(
        _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(_size(version)), 0)
    )
    if ruleset < 0:
        return None
    os.set_inheritable(ruleset, False)
    try:
        for path, names in rules:
            _allow(ruleset, path, sum(rights[name] for name in names if name in rights))
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def missing_parts() -> list[str]:
    """Return the members of PARTS that a machine's kernel would have to do without on this computer."""
    confinement = prepare_confinement()
    try:
        child = os.fork()
        if child == 0:
            try:
                missing = confinement.apply()
                os._exit(sum(1 << index for index, part in enumerate(PARTS) if part in missing))
            finally:
                os._exit(255)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        confinement.close()
    return [part for index, part in enumerate(PARTS) if status & 1 << index]


def warn_once(missing: Iterable[str]) -> None:
    """Warn on standard error, once per process, that parts of the confinement are missing."""
    global _has_warned
    if (names := ", ".join(missing)) and not _has_warned:
        _has_warned = True
        print(
            f"wanlab: this computer does not offer {names}, so your files are less protected from a "
            "program that takes over the machine's kernel (see wanlab docs security)",
            file=sys.stderr,
        )


_has_warned = False


def _size(version: int) -> int:
    """Return the size of the ruleset's attributes in this version of Landlock."""
    fields = 3 if version >= SIGNALS_VERSION else 2 if version >= _TCP_VERSION else 1
    return 8 * fields


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a container may lack a device; what we cannot reach, we cannot read either
    try:
        if not Path(path).is_dir():
            rights &= _bits_of_files()
        rule = _PathBeneath(rights, folder)
        if _libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0):
            raise OSError(ctypes.get_errno(), f"landlock_add_rule for {path}")
    finally:
        os.close(folder)


def _bits_of_files() -> int:
    """Return the bits of the rights that a rule for a single file may hold."""
    names = ("execute", "write_file", "read_file", "truncate", "ioctl_dev")
    return sum(1 << _RIGHTS[name][0] for name in names)
