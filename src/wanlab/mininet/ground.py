"""The live network under all nodes of this program.

Mininet's nodes are made one by one, and each may be used at once. Here additions wait until something
needs them (a command in a node, the start of the network), and are then made in one go: two hundred
hosts are one call instead of thousands of processes. Most scripts never notice.

    node, link made in Python        wait here
    h1.cmd(...), net.start(), ...    settle(): all that waits is made in the kernel
    os.system(...), subprocess, ...  the same: what the script starts may look at the network
    net.stop()                       the last node that goes takes the network with it
"""

from __future__ import annotations

import contextlib
import logging
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import wanlab
from wanlab.errors import CommandError

from .log import debug, lg, warn
from .namespace import inside

if TYPE_CHECKING:
    from .hosts import Node
    from .link import Link


DESCRIPTORS = 16_384


class Ground:
    """One for each program."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._network: wanlab.Network | None = None
        self._nodes: dict[str, Node] = {}
        self._live: dict[str, Node] = {}
        self._links: list[Link] = []
        self._leaving: list[Node] | None = None
        self._leaving_links: list[Link] = []
        self._is_settling = False
        self._is_adopted = False

    def adopt(self) -> wanlab.Topology:
        """From now on this is the network that the machine carries already, whose topology is returned:
        nodes and links that are made in Python are those, and are not taken away in the end."""
        with self._lock:
            assert self._network is None, "there is a network already"
            allow_descriptors()
            network = wanlab.Network.attach()
            network.start()
            self._network = network
            self._is_adopted = True
            return network.topology

    def _is_there(self, node: str) -> bool:
        """Whether somebody else has made it."""
        network = self._network if self._is_adopted else None
        return network is not None and any(node == one.name for one in network.topology.nodes)

    @property
    def network(self) -> wanlab.Network:
        """wanlab's own network, for what Mininet has no words for."""
        with self._lock:
            if self._network is None:
                allow_descriptors()
                network = wanlab.Network(wanlab.Topology(), machine="here")
                network.start()
                self._network = network
            return self._network

    # -- coming -----------------------------------------------------------------------------------

    def add_node(self, node: Node) -> None:
        with self._lock:
            former = self._live.get(node.name) or self._nodes.get(node.name)
            if former is not None:
                if former.name in self._live:
                    warn(f"*** {former} of a network that was not stopped makes room\n")
                former.terminate()
            waits = self._live if self._is_there(node.name) else self._nodes
            waits[node.name] = node

    def is_live(self, node: Node) -> bool:
        return self._live.get(node.name) is node

    def has_node(self, is_wanted: Callable[[Node], bool]) -> bool:
        nodes = [*self._nodes.values(), *self._live.values()]
        return any(map(is_wanted, nodes))

    def add_link(self, link: Link) -> None:
        with self._lock:
            if self._is_adopted and self._has_port(link):
                for end in link.ends():
                    end.is_live = True
            else:
                self._links.append(link)

    def settle(self) -> None:
        """Makes everything that waits."""
        with self._lock:
            if self._is_settling or not (self._nodes or self._links):
                return
            nodes, links = list(self._nodes.values()), self._links
            self._nodes, self._links = {}, []
            self._is_settling = True
            try:
                things: list[Any] = [node.thing() for node in nodes]
                things += [link.thing() for link in links]
                known = {str(operation) for operation in self.network.plan}
                self.network.add(*things)
                self._tell(known)
                late = [end for link in links for end in link.ends() if self._is_late(end.node)]
                self._live |= {node.name: node for node in nodes}
                ends = [end for link in links for end in link.ends()]
                for end in ends:
                    end.is_live = True
                for end in late:
                    end.settle_mac()
                self.configure(ends)
            finally:
                self._is_settling = False
            for node in nodes:
                node.settled()

    def _tell(self, known: set[str]) -> None:
        """What has been done, as somebody would type it: for setLogLevel("debug")."""
        if lg.isEnabledFor(logging.DEBUG):
            for operation in self.network.plan:
                if str(operation) not in known:
                    debug(f"*** {operation.describe()}\n")
                    debug("".join(f"{line}\n" for line in operation.commands()))

    def _is_late(self, node: Node) -> bool:
        """A host that was there before its first link: it may have a MAC of its own already."""
        return node.name in self._live

    def configure(self, ends: Iterable[Any]) -> None:
        """Performs the waiting tc commands of interfaces: one process for each namespace."""
        by_namespace: dict[str, list[str]] = {}
        for end in ends:
            by_namespace.setdefault(end.node.home, []).extend(end.take_commands())
        for namespace, lines in by_namespace.items():
            if lines:
                batch(namespace, "tc", lines)

    # -- going ------------------------------------------------------------------------------------

    @contextmanager
    def leaving_together(self) -> Iterator[None]:
        """Nodes and links that go in the body go at its end, all at once if no node is left."""
        with self._lock:
            self._leaving, self._leaving_links = [], []
        try:
            yield
        finally:
            with self._lock:
                leaving, self._leaving = self._leaving, None
                for node in leaving:
                    self._forget(node)
                if not self._live and not self._nodes:
                    self.close()
                else:
                    for link in self._leaving_links:
                        self.remove_link(link)
                    for node in leaving:
                        self.network.remove_node(node.name)

    def remove_node(self, node: Node) -> None:
        with self._lock:
            if self._nodes.get(node.name) is node:
                del self._nodes[node.name]
                self._links = [
                    link for link in self._links if all(end.node is not node for end in link.ends())
                ]
            elif self._live.get(node.name) is not node:
                return
            elif self._leaving is not None:
                self._leaving.append(node)
            else:
                self._forget(node)
                self.network.remove_node(node.name)

    def _forget(self, node: Node) -> None:
        if self._live.get(node.name) is node:
            del self._live[node.name]

    def remove_link(self, link: Link) -> None:
        with self._lock:
            if link in self._links:
                self._links.remove(link)
            elif self._leaving is not None:
                self._leaving_links.append(link)
            elif self._network is not None and self._has_port(link):
                self._network.remove_link(link.intf1.made_as)

    def _has_port(self, link: Link) -> bool:
        """A node that has gone took its links with it."""
        assert self._network is not None
        names = {port.name for known in self._network.topology.links for port in known.ports}
        return link.intf1.made_as in names

    def close(self) -> None:
        """Takes away everything that was made."""
        with self._lock:
            network, self._network = self._network, None
            self._nodes, self._links, self._live = {}, [], {}
            self._is_adopted = False
            if network is not None:
                network.stop()

    # -- programs ---------------------------------------------------------------------------------

    def wrap(self, node: Node, arguments: list[str], folder: str | None = None) -> list[str]:
        """The command line that runs a program in a node."""
        self.settle()
        with self._lock:
            if not node.home:
                return arguments
            return self.network[node.name].wrap(arguments, folder=folder)


def allow_descriptors() -> None:
    """A network of a thousand nodes takes two thousand; the limits of your computer are not touched."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, DESCRIPTORS),) * 2)


def batch(namespace: str, program: str, lines: list[str]) -> None:
    """Lines for `ip` or `tc` in a namespace, in one process. CommandError names the line that failed."""
    with inside(namespace):
        process = subprocess.Popen(
            [program, "-batch", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    said, _ = process.communicate("".join(f"{line}\n" for line in lines))
    if process.returncode != 0:
        number = said.rpartition("Command failed -:")[2].strip()
        line = lines[int(number) - 1] if number.isdigit() else "; ".join(lines)
        hint = LACKS_IT if "kind is unknown" in said else ""
        raise CommandError(f"`{program} {line}` failed", hint, output=said)


# Only on the native machine: our own kernel has them all.
LACKS_IT = "this computer's kernel lacks it, --machine embedded has it; see: wanlab doctor"


STARTS_A_PROGRAM = {
    *("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty"),
}


def _notice(event: str, _arguments: object) -> None:
    """Called by Python for everything that it does (PEP 578)."""
    if event in STARTS_A_PROGRAM:
        ground.settle()


ground = Ground()
sys.addaudithook(_notice)
