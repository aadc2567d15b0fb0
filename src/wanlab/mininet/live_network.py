"""The live network that all nodes of this program belong to.

A Mininet script makes nodes and links one by one and may use each at once. Here they wait until
something needs them (a command in a node, the start of the network) and are then created together:
two hundred hosts take one call instead of thousands of processes. Most scripts never notice.

    node, link made in Python        pending
    h1.cmd(...), net.start(), ...    create_pending(): everything pending is created in the kernel
    os.system(...), subprocess, ...  the same, because the new program may look at the network
    open("/sys/class/net/..."), ...  the same
    net.stop()                       the network is stopped when the last node is removed
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import resource
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

import wanlab
from wanlab.errors import RequirementError, WanlabError
from wanlab.topology import Controller, Link

from .log import debug, lg, warn
from .namespace import NAMES
from .parameters import caution, run_or_warn

MIN_DESCRIPTOR_LIMIT = 16_384
# Audit events (PEP 578) of everything that starts a program, or opens a socket to an interface.
USES = frozenset(
    (
        "subprocess.Popen",
        "os.system",
        "os.posix_spawn",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "socket.bind",
    )
)
READINGS = frozenset(("open", "os.listdir", "os.scandir"))
# Files that tell about interfaces and nodes.
TELLING = re.compile(
    r"/sys/(class|devices/virtual)/net|(/var)?/run/netns"
    r"|/proc/((self|thread-self|\d+)/)?net/|/proc/sys/net/ipv[46]/(conf|neigh)"
)


class NodeOfNetwork(Protocol):
    """The part of a node that the live network uses."""

    @property
    def name(self) -> str: ...

    @property
    def namespace_name(self) -> str: ...

    def as_wanlab_node(self) -> wanlab.Host | wanlab.Switch | Controller: ...

    def on_created(self) -> None: ...

    def terminate(self) -> None: ...


class EndOfLink(Protocol):
    """The part of an interface that the live network uses."""

    @property
    def node(self) -> NodeOfNetwork: ...

    def pop_tc_commands(self) -> list[str]: ...

    def on_created(self, node_was_live: bool) -> None: ...


class LinkOfNetwork(Protocol):
    """The part of a link that the live network uses."""

    is_live: bool

    @property
    def kernel_name(self) -> str: ...

    def nodes(self) -> Sequence[NodeOfNetwork]: ...

    def made_ends(self) -> Sequence[EndOfLink]: ...

    def as_wanlab_link(self) -> Link: ...


class UsesOfNetwork:
    """Call `before_use` before this process starts another program, or reads about its network.

    Python cannot remove an audit hook (PEP 578). So the hook is installed when it is first needed,
    and does nothing while it is disabled.
    """

    def __init__(self, before_use: Callable[[], None]) -> None:
        self._before_use = before_use
        self._is_installed = False
        self._is_enabled = False

    def enable(self) -> None:
        self._is_enabled = True
        if not self._is_installed:
            self._is_installed = True
            sys.addaudithook(self._on_event)

    def disable(self) -> None:
        self._is_enabled = False

    def _on_event(self, event: str, arguments: Sequence[object]) -> None:
        if self._is_enabled and (event in USES or (event in READINGS and _is_telling(arguments))):
            self._before_use()


def _is_telling(arguments: Sequence[object]) -> bool:
    return bool(arguments) and TELLING.match(str(arguments[0])) is not None


class LiveNetwork:
    """The nodes and links of this program: those pending, and those that the kernel has."""

    def __init__(self) -> None:
        self.ipv6_base = ""
        """The network of the hosts' IPv6 addresses; "" if they are to have none."""
        self._lock = threading.RLock()
        self._network: wanlab.Network | None = None
        self._pending_nodes: dict[str, NodeOfNetwork] = {}
        self._pending_links: list[LinkOfNetwork] = []
        self._live_nodes: dict[str, NodeOfNetwork] = {}
        self._nodes_to_remove: list[NodeOfNetwork] | None = None
        self._links_to_remove: list[LinkOfNetwork] = []
        self._is_creating = False
        self._is_attached = False
        self._uses = UsesOfNetwork(self.create_pending)
        # Another thread may hold the lock while this one forks. The child has only the forking thread.
        os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def watch_uses(self) -> None:
        """From now on, create pending nodes and links before something looks at the network."""
        self._uses.enable()

    def attach(self) -> wanlab.Topology:
        """Use the network that this machine already carries, and return its topology.

        Nodes and links that are made in Python afterwards represent those that exist; they are not
        removed in the end.
        """
        with self._lock:
            assert self._network is None, "this program has a network already"
            raise_descriptor_limit()
            network = wanlab.Network.attach()
            network.start()
            self._network = network
            self._is_attached = True
            return network.topology

    def _exists_already(self, name: str) -> bool:
        """Whether the network that we attached to has a node of this name."""
        network = self._network if self._is_attached else None
        return network is not None and any(name == node.name for node in network.topology.nodes)

    @property
    def network(self) -> wanlab.Network:
        """The `wanlab.Network` itself, for everything that Mininet's API does not offer."""
        with self._lock:
            if self._network is None:
                raise_descriptor_limit()
                topology = wanlab.Topology(ipv6_base=self.ipv6_base)
                network = wanlab.Network(topology, machine="here")
                network.start()
                self._network = network
            return self._network

    @property
    def own_network(self) -> wanlab.Network | None:
        """The network that this program has made; None if there is none, or it existed before."""
        return None if self._is_attached else self._network

    # -- adding -----------------------------------------------------------------------------------

    def add_node(self, node: NodeOfNetwork) -> None:
        self.watch_uses()
        with self._lock:
            previous = self._live_nodes.get(node.name) or self._pending_nodes.get(node.name)
            if previous is not None:
                if previous.name in self._live_nodes:
                    warn(
                        f"*** replacing {previous}, which belongs to a network that was never stopped\n"
                    )
                previous.terminate()
            exists = self._exists_already(node.name)
            (self._live_nodes if exists else self._pending_nodes)[node.name] = node

    def has(self, node: NodeOfNetwork) -> bool:
        """Whether a node is in the network: it could be made and has not been removed."""
        nodes = (self._live_nodes.get(node.name), self._pending_nodes.get(node.name))
        return any(known is node for known in nodes)

    def is_live(self, node: NodeOfNetwork) -> bool:
        return self._live_nodes.get(node.name) is node

    @property
    def nodes(self) -> list[NodeOfNetwork]:
        return [*self._pending_nodes.values(), *self._live_nodes.values()]

    def has_node(self, matches: Callable[[NodeOfNetwork], bool]) -> bool:
        return any(map(matches, self.nodes))

    def add_link(self, link: LinkOfNetwork) -> None:
        with self._lock:
            if self._is_attached and self._has_port(link):
                link.is_live = True
            else:
                self._pending_links.append(link)

    def create_pending(self) -> None:
        """Create all pending nodes and links in the kernel."""
        with self._lock:
            if self._is_creating or not (self._pending_nodes or self._pending_links):
                return
            nodes, links = list(self._pending_nodes.values()), self._pending_links
            self._pending_nodes, self._pending_links = {}, []
            self._is_creating = True
            try:
                self._create(nodes, links)
            finally:
                self._is_creating = False
            for node in nodes:
                node.on_created()

    def _create(self, nodes: list[NodeOfNetwork], links: list[LinkOfNetwork]) -> None:
        self._refuse_taken_names(nodes)
        known = {str(operation) for operation in self.network.plan}
        self.network.add(
            *[node.as_wanlab_node() for node in nodes], *[link.as_wanlab_link() for link in links]
        )
        for warning in self.network.warnings:
            caution(WanlabError(warning))
        self._log_new_operations(known)
        ends = [end for link in links for end in link.made_ends()]
        on_live_nodes = {id(end) for end in ends if end.node.name in self._live_nodes}
        self._live_nodes |= {node.name: node for node in nodes}
        for link in links:
            link.is_live = True
        for end in ends:
            end.on_created(node_was_live=id(end) in on_live_nodes)
        self._run_tc_commands(ends)

    def _refuse_taken_names(self, nodes: list[NodeOfNetwork]) -> None:
        """Raise RequirementError for names that another network in this machine has."""
        taken = [node.name for node in nodes if Path(NAMES, node.namespace_name or "-").exists()]
        if taken:
            raise RequirementError(
                f"this machine already carries a network with {', '.join(taken)}",
                "open its prompt with `mn --attach`, or start another network with `wanlab mn` on your "
                "computer",
            )

    def _log_new_operations(self, known: set[str]) -> None:
        """Show the performed operations as shell commands, for setLogLevel("debug")."""
        if lg.isEnabledFor(logging.DEBUG):
            for operation in self.network.plan:
                if str(operation) not in known:
                    debug(f"*** {operation.describe()}\n")
                    debug("".join(f"{line}\n" for line in operation.commands()))

    def _run_tc_commands(self, ends: Iterable[EndOfLink]) -> None:
        """Run the pending tc commands of these interfaces, in one process for each namespace."""
        by_namespace: dict[str, list[str]] = {}
        for end in ends:
            commands = by_namespace.setdefault(end.node.namespace_name, [])
            commands.extend(end.pop_tc_commands())
        for namespace, commands in by_namespace.items():
            if commands:
                run_or_warn(namespace, "tc", commands)

    # -- removing ---------------------------------------------------------------------------------

    @contextmanager
    def removing_together(self) -> Iterator[None]:
        """Collect the nodes and links that the body removes, and remove them together at its end.

        If no node is left, the whole network is stopped instead, which is faster.
        """
        with self._lock:
            self._nodes_to_remove, self._links_to_remove = [], []
        try:
            yield
        finally:
            with self._lock:
                nodes, self._nodes_to_remove = self._nodes_to_remove, None
                for node in nodes:
                    self._forget(node)
                if not self._live_nodes and not self._pending_nodes:
                    self.close()
                else:
                    for link in self._links_to_remove:
                        self.remove_link(link)
                    for node in nodes:
                        self.network.remove_node(node.name)

    def remove_node(self, node: NodeOfNetwork) -> None:
        with self._lock:
            if self._pending_nodes.get(node.name) is node:
                del self._pending_nodes[node.name]
                self._pending_links = [
                    link
                    for link in self._pending_links
                    if all(end is not node for end in link.nodes())
                ]
            elif self._live_nodes.get(node.name) is not node:
                return
            elif self._nodes_to_remove is not None:
                # A switch is removed by `stop` and by `terminate`.
                if not any(node is known for known in self._nodes_to_remove):
                    self._nodes_to_remove.append(node)
            else:
                self._forget(node)
                self.network.remove_node(node.name)

    def _forget(self, node: NodeOfNetwork) -> None:
        if self._live_nodes.get(node.name) is node:
            del self._live_nodes[node.name]

    def remove_link(self, link: LinkOfNetwork) -> None:
        with self._lock:
            if link in self._pending_links:
                self._pending_links.remove(link)
            elif self._nodes_to_remove is not None:
                self._links_to_remove.append(link)
            elif self._network is not None and self._has_port(link):
                # In Mininet, addresses belong to interfaces.
                self._network.remove_link(link.kernel_name, keep_addresses=False)

    def _has_port(self, link: LinkOfNetwork) -> bool:
        """Whether the network still has this link: it is removed with either of its nodes."""
        assert self._network is not None
        links = self._network.topology.links
        return link.kernel_name in {port.name for link in links for port in link.ports}

    def close(self) -> None:
        """Remove everything that was created."""
        with self._lock:
            network, self._network = self._network, None
            self._pending_nodes, self._pending_links, self._live_nodes = {}, [], {}
            self._is_attached = False
            self._uses.disable()
            if network is not None:
                network.stop()

    # -- programs ---------------------------------------------------------------------------------

    def wrap(
        self, node: NodeOfNetwork, arguments: list[str], folder: str | None = None
    ) -> list[str]:
        """Return the command line that runs a program in a node."""
        self.create_pending()
        with self._lock:
            if not node.namespace_name:
                return arguments
            if not self.is_live(node):
                raise WanlabError(f"{node.name} is in no network any more: it was stopped")
            return self.network[node.name].wrap(arguments, folder=folder)


@cache
def live_network() -> LiveNetwork:
    """Return the live network of this program.

    There is only one, because scripts make Mininet's nodes without naming a network.
    """
    return LiveNetwork()


def raise_descriptor_limit() -> None:
    """Allow this process two descriptors for each of thousands of nodes."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(hard_limit, MIN_DESCRIPTOR_LIMIT)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
