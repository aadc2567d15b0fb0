"""The file system of the native machine: the computer's own, with a few places of the machine's.

    /                   the computer's, read and written as its owner may
    /proc /sys          of the machine's own namespaces; of /proc/sys only net can be written
    /run                empty, but for what has to be seen there
    /dev/pts            terminals of the machine's own
    /etc/hosts          the machine's own

All of it is a matter of the machine's mount namespace and gone with that.
"""

from __future__ import annotations

import os

from . import system
from .root import NETNS_FOLDER, RUN_FOLDER

HOSTS_FILE = "/etc/hosts"
RUN = "/run"


def prepare(host_name: str, visible_folders: list[str]) -> None:
    """`visible_folders`: what must be seen where it is, even if that is below /run."""
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    system.mount("proc", "/proc", "proc")
    # What is not of a network namespace belongs to the whole computer.
    _protect("/proc/sys", except_for="/proc/sys/net")
    system.mount("sys", "/sys", "sysfs")
    system.mount("pts", "/dev/pts", "devpts", options="newinstance,ptmxmode=0666,mode=0620")
    system.mount("/dev/pts/ptmx", "/dev/ptmx", flags=system.MS_BIND)
    _empty_run(visible_folders)
    if os.path.exists(HOSTS_FILE):
        own = f"{RUN_FOLDER}/hosts"
        with open(own, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n::1 localhost\n")
        system.mount(own, HOSTS_FILE, flags=system.MS_BIND)
    system.set_host_name(host_name)


def _protect(folder: str, except_for: str) -> None:
    inner = os.open(except_for, os.O_PATH | os.O_CLOEXEC)
    system.mount(folder, folder, flags=system.MS_BIND)
    system.mount("none", folder, flags=system.MS_BIND | system.MS_REMOUNT | system.MS_RDONLY)
    system.mount(f"/proc/self/fd/{inner}", except_for, flags=system.MS_BIND)
    os.close(inner)


def _empty_run(visible_folders: list[str]) -> None:
    seen = [it for it in visible_folders if it.startswith(f"{RUN}/") and os.path.isdir(it)]
    handles = [(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in seen]
    system.mount("run", RUN, "tmpfs", options="mode=755")
    for folder, handle in handles:
        os.makedirs(folder, exist_ok=True)
        system.mount(f"/proc/self/fd/{handle}", folder, flags=system.MS_BIND | system.MS_REC)
        os.close(handle)
    for folder in (NETNS_FOLDER, RUN_FOLDER):
        os.makedirs(folder, exist_ok=True)
