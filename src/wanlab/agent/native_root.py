"""The file system of the native machine: the computer's own, with a few folders of the machine's.

    /                   the computer's, read and written with its owner's rights
    /proc /sys          of the machine's own namespaces; in /proc/sys only net can be written
    /run                empty, but for the folders that must be visible there
    /dev/pts            the machine's own terminals
    /etc/hosts          the machine's own

All of it belongs to the machine's mount namespace and disappears with it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import system
from .root import NETNS_FOLDER, RUN_FOLDER

if TYPE_CHECKING:
    from typing import TypedDict

    class NativeRoot(TypedDict):
        """The arguments of `prepare`."""

        host_name: str
        visible_folders: list[str]


HOSTS_FILE = "/etc/hosts"
RUN = "/run"


def prepare(host_name: str, visible_folders: list[str]) -> None:
    """Set up the mounts described above. `visible_folders` stay visible where they are below /run."""
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    system.mount("proc", "/proc", "proc")
    # All sysctls but those of network namespaces belong to the whole computer.
    _protect("/proc/sys", except_for="/proc/sys/net")
    system.mount("sys", "/sys", "sysfs")
    system.mount("pts", "/dev/pts", "devpts", options="newinstance,ptmxmode=0666,mode=0620")
    system.mount("/dev/pts/ptmx", "/dev/ptmx", flags=system.MS_BIND)
    _empty_run(visible_folders)
    if os.path.exists(HOSTS_FILE):
        hosts = f"{RUN_FOLDER}/hosts"
        with open(hosts, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n::1 localhost\n")
        system.mount(hosts, HOSTS_FILE, flags=system.MS_BIND)
    system.set_host_name(host_name)


def _protect(folder: str, except_for: str) -> None:
    inner = os.open(except_for, os.O_PATH | os.O_CLOEXEC)
    system.mount(folder, folder, flags=system.MS_BIND)
    system.mount("none", folder, flags=system.MS_BIND | system.MS_REMOUNT | system.MS_RDONLY)
    system.mount(f"/proc/self/fd/{inner}", except_for, flags=system.MS_BIND)
    os.close(inner)


def _empty_run(visible_folders: list[str]) -> None:
    visible = [
        path for path in visible_folders if path.startswith(f"{RUN}/") and os.path.isdir(path)
    ]
    handles = [(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in visible]
    system.mount("run", RUN, "tmpfs", options="mode=755")
    for folder, handle in handles:
        os.makedirs(folder, exist_ok=True)
        system.mount(f"/proc/self/fd/{handle}", folder, flags=system.MS_BIND | system.MS_REC)
        os.close(handle)
    for folder in (NETNS_FOLDER, RUN_FOLDER):
        os.makedirs(folder, exist_ok=True)
