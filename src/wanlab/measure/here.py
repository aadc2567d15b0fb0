"""Read counters from inside a machine, for `wanlab top`, `wanlab drops` and `plot_q.sh`.

A sampler reads from outside, at scheduled instants. A program inside the machine can read at any time.
The nodes are those with a namespace in /run/netns, and "root", which holds the switches and their ports.

    with LocalView() as here:
        for node in here.snapshot():
            print(node.name, [port.name for port in node.ports])
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wanlab.agent import system
from wanlab.agent.links import NETLINK_ROUTE, NETLINK_SOCK_DIAG, Netlink
from wanlab.agent.root import ABOUT_FILE, NETNS_FOLDER
from wanlab.errors import PeerError, RequirementError, WanlabError, did_you_mean
from wanlab.netlink import framing, link_dump, qdisc_dump
from wanlab.netlink.link_dump import LinkCounters
from wanlab.netlink.qdisc import QdiscCounters

from . import firewall, tcp_info
from .lost_packets import FILES, Drop, NodeState, drops_of, protocol_counters
from .port_queue import PortQueue, port_queue
from .tcp_info import TcpSocket

ROOT = "root"
INIT = "/proc/1/ns/net"
OWN = "/proc/self/ns/net"
# A list may change while the kernel dumps it; a second attempt nearly always succeeds.
ATTEMPTS = 5


@dataclass(frozen=True)
class NodeCounters:
    """All counters of one node at one moment."""

    name: str
    ports: Sequence[LinkCounters]
    qdiscs: Sequence[QdiscCounters]
    flows: Sequence[TcpSocket]

    @cached_property
    def queues(self) -> Mapping[str, PortQueue]:
        """The queue of each port, by the port's name."""
        by_port: dict[str, list[QdiscCounters]] = {port.name: [] for port in self.ports}
        for qdisc in self.qdiscs:
            by_port.setdefault(qdisc.device, []).append(qdisc)
        return {name: port_queue(qdiscs) for name, qdiscs in by_port.items()}


class LocalView:
    """Read the counters of all nodes. This needs root, which every user has inside a machine."""

    def __init__(self, namespaces: str | os.PathLike[str] = NETNS_FOLDER) -> None:
        if not Path(ABOUT_FILE).exists():
            raise RequirementError(
                "this program is not running inside a wanlab machine",
                "run it in a terminal of a network, such as: wanlab exec --topo TOPOLOGY -- bash",
            )
        self.about: dict[str, object] = json.loads(Path(ABOUT_FILE).read_text(encoding="utf-8"))
        """The description of the machine: its clock, its kernel, its seed."""
        self._folder = Path(namespaces)
        self._own = os.open(OWN, os.O_RDONLY | os.O_CLOEXEC)
        self._sockets: dict[tuple[str, int], Netlink] = {}

    def close(self) -> None:
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()
        os.close(self._own)

    def __enter__(self) -> LocalView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def nodes(self) -> list[str]:
        """Return the names of all nodes: root first, then the others by name, h2 before h10."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            names = []
        return [ROOT, *sorted(names, key=lambda name: (len(name), name))]

    def snapshot(self) -> list[NodeCounters]:
        """Read all nodes; one that disappears in the meantime is left out."""
        names = self.nodes()
        for node, protocol in [key for key in self._sockets if key[0] not in names]:
            self._sockets.pop((node, protocol)).close()
        nodes = []
        for name in names:
            try:
                nodes.append(self.node_snapshot(name))
            except FileNotFoundError:
                continue
        return nodes

    def node_snapshot(self, node: str) -> NodeCounters:
        """Read one node."""
        for attempt in range(ATTEMPTS):
            try:
                ports = link_dump.decode(self._links(node))
                names = {port.index: port.name for port in ports}
                qdiscs = qdisc_dump.decode(self._qdiscs(node), names)
                return NodeCounters(node, ports, qdiscs, self._all_flows(node))
            except PeerError:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    def drops(self) -> list[Drop]:
        """Return every place where packets were lost, most packets first, with the firewalls' rules."""
        nodes = self.snapshot()
        found = drops_of(
            NodeState(node.name, node.ports, node.qdiscs, self._protocols(node.name))
            for node in nodes
        )
        found += [drop for node in nodes for drop in self._dropped_by_rules(node.name)]
        return sorted(found, key=lambda drop: -drop.packets)

    def _dropped_by_rules(self, node: str) -> Iterator[Drop]:
        """Yield the drops of a node's firewall, if it has one and nft(8) is installed."""
        try:
            tables = self._dump(
                node, firewall.NETLINK_NETFILTER, firewall.NFT_MSG_GETTABLE, firewall.TABLES_REQUEST
            )
            has_tables = any(True for _ in framing.messages(tables, firewall.NFT_MSG_NEWTABLE))
        except (OSError, PeerError):  # a kernel without nf_tables
            return
        if has_tables and shutil.which("nft"):
            with self._inside(node):
                listed = subprocess.run(
                    firewall.LIST_RULES, capture_output=True, text=True, check=False
                )
            yield from firewall.drops_of_rules(node, listed.stdout)

    def node_of(self, port: str) -> str:
        """Return the node that has a port; if several do, this program's node, or WanlabError."""
        candidates = {
            node.name: node
            for node in self.snapshot()
            if port in {link.name for link in node.ports}
        }
        own = self._own_node()
        if own in candidates or len(candidates) == 1:
            return own if own in candidates else next(iter(candidates))
        if candidates:
            raise WanlabError(
                f"several nodes have a port {port}",
                f"run this program on one of them: {', '.join(candidates)}",
            )
        known = [
            link.name for node in self.snapshot() for link in node.ports if not link.is_loopback
        ]
        raise WanlabError(f"there is no port {port}", did_you_mean(port, known))

    def _own_node(self) -> str:
        own = os.fstat(self._own)
        for node in self.nodes():
            try:
                if os.path.samestat(own, self._namespace(node).stat()):
                    return node
            except OSError:
                continue
        return ROOT

    def _namespace(self, node: str) -> Path:
        return Path(INIT) if node == ROOT else self._folder / node

    # -- netlink requests -------------------------------------------------------------------------

    def _links(self, node: str) -> bytes:
        body = link_dump.request_body()
        return self._dump(node, NETLINK_ROUTE, link_dump.RTM_GETLINK, body)

    def _qdiscs(self, node: str) -> bytes:
        body = qdisc_dump.request_body()
        return self._dump(node, NETLINK_ROUTE, qdisc_dump.RTM_GETQDISC, body)

    def _all_flows(self, node: str) -> list[TcpSocket]:
        flows = tcp_info.decode(self._flows(node, socket.AF_INET))
        with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
            flows += tcp_info.decode(self._flows(node, socket.AF_INET6))
        return flows

    def _flows(self, node: str, family: int) -> bytes:
        body = struct.pack(
            "=BBBxI48x",
            family,
            socket.IPPROTO_TCP,
            tcp_info.ALL_EXTENSIONS,
            tcp_info.ESTABLISHED_AND_ENDING,
        )
        return self._dump(node, NETLINK_SOCK_DIAG, tcp_info.SOCK_DIAG_BY_FAMILY, body)

    def _dump(self, node: str, protocol: int, kind: int, body: bytes) -> bytes:
        return self._socket(node, protocol).dump(framing.request(kind, body))

    def _socket(self, node: str, protocol: int) -> Netlink:
        """Return the socket of a node and protocol; they stay open to save system calls."""
        if (node, protocol) not in self._sockets:
            self._sockets[node, protocol] = self._open(node, protocol)
        return self._sockets[node, protocol]

    def _open(self, node: str, protocol: int) -> Netlink:
        with self._inside(node):
            return Netlink(protocol)

    def _protocols(self, node: str) -> dict[str, int]:
        with self._inside(node):
            paths = [Path(f"/proc/thread-self/net/{Path(path).name}") for path in FILES]
            return protocol_counters(*(path.read_text(encoding="ascii") for path in paths))

    @contextlib.contextmanager
    def _inside(self, node: str) -> Iterator[None]:
        """Run the body in the namespace of a node."""
        descriptor = os.open(self._namespace(node), os.O_RDONLY | os.O_CLOEXEC)
        try:
            system.setns(descriptor, system.CLONE_NEWNET)
            try:
                yield
            finally:
                system.setns(self._own, system.CLONE_NEWNET)
        except PermissionError:
            raise RequirementError(
                f"only root may read the counters of {node}", "use sudo"
            ) from None
        finally:
            os.close(descriptor)
