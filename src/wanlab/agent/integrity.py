"""Keeps root in a node from changing what the agent runs and reads, and finds the programs it changed.

Every program in the machine is root. It can enter the agent's mount namespace, mount anything anywhere,
write to every file of the overlay, and open what the agent has open (/proc/1/fd). Therefore

* modules that the agent imports late come from the computer's files, which lie below the overlay
* counters are read in a copy of the mounts, on which nobody can mount anything (open_tree(2))
* the overlay's upper layer, which shows what was changed, is reached by a descriptor that is in no table
  of descriptors: it is always on its way through a socket (SCM_RIGHTS in unix(7))

Other agents, a guest's for instance, keep none of these: each function does the plain thing there.
"""

from __future__ import annotations

import _socket
import os
import stat
import struct
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from . import system
from .program_files import changed_in_overlay, sha256_of

RUN_FOLDER = "/run/wanlab"
INSTALLED_FOLDERS = (f"{RUN_FOLDER}/bin", f"{RUN_FOLDER}/python")
PROGRAM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "etc")
WANLAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__))).lstrip("/")
"""wanlab's own folder, which is anywhere."""
MOUNT_POINTS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    *INSTALLED_FOLDERS,
    "/etc/ld.so.preload",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    f"/{WANLAB}",
)
"""What is mounted on, in or above one of these changes programs."""
MAX_CHANGES = 20
"""The most changed programs that are reported."""
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_DESCRIPTOR = struct.Struct("=i")

_computer = -1
"""The computer's files, without the overlay."""
_mounts = -1
"""The copy of the mounts."""
_upper: tuple[_socket.socket, _socket.socket] | None = None
_expected_mounts: Counter[str] = Counter()
_installed: dict[str, str] = {}


# -- the agent itself -----------------------------------------------------------------------------


def keep_computer(upper: str) -> None:
    """Keep the computer's files, which are / now, and the overlay's upper layer, a folder."""
    global _computer, _upper
    _computer = os.open("/", FOLDER)
    _upper = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    for end in _upper:
        os.set_inheritable(end.fileno(), False)
    _send(os.open(upper, FOLDER))


def keep_mounts() -> None:
    """Keep the mounts as they are now, and the programs that wanlab has installed."""
    global _mounts
    if _computer < 0:  # an agent for a program inside
        return
    # The first process shares its root and folder with kernel threads. setns(2) then refuses.
    system.unshare(system.CLONE_FS)
    _mounts = system.copy_mounts("/")
    _expected_mounts.update(_mount_points())
    _installed.update(_installed_files())


def load(module: str) -> None:
    """Import a module from the computer's files, unless it has been imported."""
    if _computer < 0 or module in sys.modules:
        return
    root = os.open("/", FOLDER)
    try:
        os.fchdir(_computer)
        os.chroot(".")
        __import__(module)
    finally:
        os.fchdir(root)
        os.chroot(".")
        os.close(root)


def open_for_reading(path: str) -> int:
    """Open a file of the agent's mounts, whatever was mounted since. `path` is absolute."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    if _mounts < 0:
        return os.open(path, flags)
    return os.open(path.lstrip("/"), flags, dir_fd=_mounts)


def forget() -> None:
    """Do the plain things from now on: this fork of the agent has closed the descriptors."""
    global _computer, _mounts, _upper
    _computer, _mounts, _upper = -1, -1, None


# -- what has changed -----------------------------------------------------------------------------


def expect_mount(path: str) -> None:
    """Expect that something is mounted on a folder, because the topology asks for it."""
    _expected_mounts[os.path.realpath(path)] += 1


def changed_programs(own_mounts: int, nodes_mounts: Iterable[int]) -> list[str]:
    """Return the paths of programs, and of files that they load, that have changed in the machine.

    Also those on which something is mounted in a mount namespace (descriptors).
    At most MAX_CHANGES are returned. Everybody is root in a machine and can replace what measures it.
    """
    changed = set(islice(_changed_mounts(own_mounts, nodes_mounts), MAX_CHANGES))
    changed.update(path for path, _ in _installed_files().items() ^ _installed.items())
    with in_upper():
        for folder in PROGRAM_FOLDERS:  # each on its own: many files in one hide nothing in another
            changed.update(islice(changed_in_overlay(".", folder), MAX_CHANGES))
        changed.update(islice(changed_in_overlay(".", WANLAB, (WANLAB,)), MAX_CHANGES))
    return sorted(changed)[:MAX_CHANGES]


@contextmanager
def in_upper() -> Iterator[None]:
    """Run the body with the overlay's upper layer as the current folder."""
    upper = _receive()
    try:
        os.fchdir(upper)
        yield
    finally:
        os.chdir("/")
        _send(upper)


def _send(descriptor: int) -> None:
    """Put a descriptor on its way, and close it."""
    assert _upper is not None
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(descriptor))
    _upper[0].sendmsg([b"."], [rights])
    os.close(descriptor)


def _receive() -> int:
    assert _upper is not None
    messages = _upper[1].recvmsg(1, _socket.CMSG_SPACE(_DESCRIPTOR.size))[1]
    (descriptor,) = _DESCRIPTOR.unpack(messages[0][2])
    os.set_inheritable(descriptor, False)
    return int(descriptor)


def _changed_mounts(own: int, others: Iterable[int]) -> Iterator[str]:
    """Yield each program, or folder of programs, on which something has been mounted."""
    try:
        for namespace in (own, *others):
            system.setns(namespace, system.CLONE_NEWNS)
            for path, count in _mount_points().items():
                if count > _expected_mounts[path] and _concerns_programs(path):
                    yield path
    finally:
        system.setns(own, system.CLONE_NEWNS)


def _mount_points() -> Counter[str]:
    """Return how often something is mounted on each path, in the current mount namespace.

    Linux, Documentation/filesystems/proc.rst, section 3.5.
    """
    with open(open_for_reading("/proc/self/mountinfo"), "rb") as file:
        lines = file.read().splitlines()
    return Counter(_plain(line.split(b" ", 5)[4]) for line in lines if b"/netns/" not in line)


def _plain(path: bytes) -> str:
    """Return a path as it is; mountinfo escapes four characters (mangle_path() in fs/seq_file.c)."""
    for escaped, character in (
        (rb"\040", b" "),
        (rb"\011", b"\t"),
        (rb"\012", b"\n"),
        (rb"\134", b"\\"),
    ):
        path = path.replace(escaped, character)
    return os.fsdecode(path)


def _concerns_programs(path: str) -> bool:
    inside = f"{path.rstrip('/')}/"
    return any(
        f"{point}/".startswith(inside) or inside.startswith(f"{point}/") for point in MOUNT_POINTS
    )


def _installed_files() -> dict[str, str]:
    """Return the programs that wanlab has installed, each with its digest or the target of its link."""
    files = {}
    for folder in INSTALLED_FOLDERS:
        descriptor = open_for_reading(folder)
        try:
            for name in os.listdir(descriptor):
                path = f"{folder}/{name}"
                is_known = not _installed or path in _installed
                files[path] = _content(descriptor, name) if is_known else ""
        finally:
            os.close(descriptor)
    return files


def _content(folder: int, name: str) -> str:
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return os.readlink(name, dir_fd=folder)
    return sha256_of(name, folder)
