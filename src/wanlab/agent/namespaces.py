"""The namespaces of nodes. The node "" is the machine's root namespace, where switch ports are.

A host or router has a network namespace, bound to /run/netns/NAME so that `ip netns exec NAME` works.
Once a process runs in it, it also has a mount namespace in which /sys shows its own interfaces. What
the machine's root has mounted below /sys (debugfs, tracefs, cgroups) is there, too. Files in
/etc/netns/NAME replace those of /etc there, as for `ip netns exec NAME`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import system
from .root import MOUNTS_IN_SYS, NETNS_FILES, NETNS_FOLDER

if TYPE_CHECKING:
    from typing import TypedDict

    from .cgroups import ControlGroup

    class NamespacePaths(TypedDict):
        """The paths at which another process finds the namespaces of a node."""

        net: str
        mount: str


ROOT = ""
MAX_OPEN_FILES = 65536


class Namespaces:
    """The namespaces of all nodes, by name. The agent's own thread enters and leaves them."""

    def __init__(self) -> None:
        _raise_open_file_limit()
        self._net = {ROOT: os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)}
        self._mount = {ROOT: os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)}
        self._adopted: set[str] = set()
        self._groups: dict[str, ControlGroup] = {}
        self._mounts_in_sys = [folder for _, folder in MOUNTS_IN_SYS if os.path.ismount(folder)]

    def names(self) -> list[str]:
        """Return the names of the nodes that this agent made."""
        return [name for name in self._net if name != ROOT and name not in self._adopted]

    def net(self, node: str) -> int:
        """Return the descriptor of a node's network namespace. ValueError if there is none."""
        try:
            return self._net[node]
        except KeyError:
            raise ValueError(f"there is no node {node}") from None

    def mounts(self) -> list[int]:
        """Return the descriptors of the mount namespaces: the root's, and those of the nodes."""
        return list(self._mount.values())

    def add(self, node: str) -> None:
        """Make a node's network namespace and bind it to /run/netns. ValueError if it exists."""
        if node in self._net:
            raise ValueError(f"there is already a node {node}")
        path = f"{NETNS_FOLDER}/{node}"
        system.name_next_netns(node)
        system.unshare(system.CLONE_NEWNET)
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o444))
            system.mount("/proc/self/ns/net", path, flags=system.MS_BIND)
            self._net[node] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            system.setns(self._net[ROOT], system.CLONE_NEWNET)

    def adopt(self, nodes: dict[str, NamespacePaths]) -> None:
        """Use nodes that another agent made; `nodes` maps each name to the result of its `paths`."""
        for node, paths in nodes.items():
            self._net[node] = os.open(paths["net"], os.O_RDONLY | os.O_CLOEXEC)
            self._mount[node] = os.open(paths["mount"], os.O_RDONLY | os.O_CLOEXEC)
            self._adopted.add(node)

    def remove(self, *nodes: str) -> None:
        """Kill the processes of nodes and release their namespaces."""
        self._end_processes({os.fstat(self.net(node)).st_ino for node in nodes})
        for node in nodes:
            os.close(self._net.pop(node))
            if node in self._mount:
                os.close(self._mount.pop(node))
            path = f"{NETNS_FOLDER}/{node}"
            system.unmount(path)
            os.unlink(path)

    def _end_processes(self, inodes: set[int]) -> None:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{pid}/ns/net").st_ino in inodes:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:  # it has ended, or belongs to another user
                continue

    def paths(self, node: str) -> NamespacePaths:
        """Return paths by which other processes with this user and root can enter a node."""
        with self.inside(node):
            pass
        return {
            "net": f"/proc/{os.getpid()}/fd/{self.net(node)}",
            "mount": f"/proc/{os.getpid()}/fd/{self._mount[node]}",
        }

    @contextmanager
    def inside_net(self, node: str) -> Iterator[None]:
        """Run the body in a node's network namespace."""
        descriptor = self.net(node)
        if node == ROOT:
            yield
            return
        system.setns(descriptor, system.CLONE_NEWNET)
        try:
            yield
        finally:
            system.setns(self._net[ROOT], system.CLONE_NEWNET)

    def put_in_group(self, node: str, group: ControlGroup) -> None:
        """Run the processes that are started in this node from now on in a control group."""
        self._groups[node] = group

    @contextmanager
    def _in_group(self, node: str) -> Iterator[None]:
        group = self._groups.get(node)
        if group is None:
            yield
            return
        group.enter()
        try:
            yield
        finally:
            group.leave()

    @contextmanager
    def inside(self, node: str) -> Iterator[None]:
        """Run the body in a node's namespaces and control group. The current folder becomes /."""
        with self._in_group(node), self.inside_net(node):
            if node == ROOT:
                yield
                return
            if node not in self._mount:
                system.unshare(system.CLONE_NEWNS)
                self._mount_own_sys()
                self._mount[node] = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            else:
                system.setns(self._mount[node], system.CLONE_NEWNS)
            try:
                _bind_own_files(node)
                yield
            finally:
                system.setns(self._mount[ROOT], system.CLONE_NEWNS)

    def _mount_own_sys(self) -> None:
        """Mount a /sys that shows the interfaces of this network namespace.

        Mounts below /sys are bound: to mount a kernel file system a second time costs a millisecond.
        """
        below = [
            (folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in self._mounts_in_sys
        ]
        system.mount("sys", "/sys", "sysfs")
        for folder, descriptor in below:
            system.mount(f"/proc/self/fd/{descriptor}", folder, flags=system.MS_BIND)
            os.close(descriptor)


def _bind_own_files(node: str) -> None:
    """Show the files of /etc/netns/NODE in /etc, those that are there now and were not before.

    As with ip-netns(8), a file that /etc does not have is not shown.
    """
    folder = f"{NETNS_FILES}/{node}"
    try:
        names = os.listdir(folder)
    except OSError:  # usually there is none
        return
    for name in sorted(names):
        source, target = f"{folder}/{name}", f"/etc/{name}"
        with contextlib.suppress(OSError):
            if not os.path.samefile(source, target):
                system.mount(source, target, flags=system.MS_BIND)


def _raise_open_file_limit() -> None:
    """Raise the limit of open files: a node takes two descriptors, and the usual limit is 1024."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard_limit, MAX_OPEN_FILES), hard_limit):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, MAX_OPEN_FILES), limit))
            return
