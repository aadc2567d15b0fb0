"""Which namespaces a node lives in. "" is the machine's root namespace, where switch ports are.

A host or router has a network namespace, bound to /run/netns/NAME so that `ip netns exec NAME` works
too, and, once a process runs in it, a mount namespace in which /sys shows its own interfaces.
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
from .root import NETNS_FOLDER

if TYPE_CHECKING:
    from .groups import Group

ROOT = ""
MANY_FILES = 65536


class Namespaces:
    """The namespaces of all nodes, by name; the agent's own thread moves in and out of them."""

    def __init__(self) -> None:
        _let_many_files_be_open()
        self._net = {ROOT: os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)}
        self._mount = {ROOT: os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)}
        self._adopted: set[str] = set()
        self._groups: dict[str, Group] = {}

    def names(self) -> list[str]:
        """Of the nodes that were made here."""
        return [name for name in self._net if name != ROOT and name not in self._adopted]

    def net(self, node: str) -> int:
        """Descriptor of a node's network namespace."""
        try:
            return self._net[node]
        except KeyError:
            raise ValueError(f"there is no node {node}") from None

    def add(self, node: str) -> None:
        if node in self._net:
            raise ValueError(f"there is a node {node} already")
        path = f"{NETNS_FOLDER}/{node}"
        system.unshare(system.CLONE_NEWNET)
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o444))
            system.mount("/proc/self/ns/net", path, flags=system.MS_BIND)
            self._net[node] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            system.setns(self._net[ROOT], system.CLONE_NEWNET)

    def adopt(self, nodes: dict[str, dict[str, str]]) -> None:
        """Knows nodes that somebody else has made, by what `paths` said of them."""
        for node, places in nodes.items():
            self._net[node] = os.open(places["net"], os.O_RDONLY | os.O_CLOEXEC)
            self._mount[node] = os.open(places["mount"], os.O_RDONLY | os.O_CLOEXEC)
            self._adopted.add(node)

    def remove(self, *nodes: str) -> None:
        """Ends whatever is in them; they go with the last process that leaves."""
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
            except OSError:  # it has ended, or is none of ours
                continue

    def paths(self, node: str) -> dict[str, str]:
        """Where another process, of the same user and the same root, finds the namespaces of a node."""
        with self.inside(node):
            pass
        return {
            "net": f"/proc/{os.getpid()}/fd/{self.net(node)}",
            "mount": f"/proc/{os.getpid()}/fd/{self._mount[node]}",
        }

    @contextmanager
    def inside_net(self, node: str) -> Iterator[None]:
        """Runs the body in a node's network namespace."""
        descriptor = self.net(node)
        if node == ROOT:
            yield
            return
        system.setns(descriptor, system.CLONE_NEWNET)
        try:
            yield
        finally:
            system.setns(self._net[ROOT], system.CLONE_NEWNET)

    def put_in_group(self, node: str, group: Group) -> None:
        """What is started in this node from now on belongs to a control group."""
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
        """Runs the body in a node's network and mount namespaces, and in its control group; the current
        folder is / then."""
        with self._in_group(node), self.inside_net(node):
            if node == ROOT:
                yield
                return
            if node not in self._mount:
                system.unshare(system.CLONE_NEWNS)
                system.mount("sys", "/sys", "sysfs")
                self._mount[node] = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            else:
                system.setns(self._mount[node], system.CLONE_NEWNS)
            try:
                yield
            finally:
                system.setns(self._mount[ROOT], system.CLONE_NEWNS)


def _let_many_files_be_open() -> None:
    """Each node takes two descriptors, and a process may have 1024 unless it asks for more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(most, MANY_FILES), most):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, MANY_FILES), limit))
            return
