"""Topo: the description of a network, with named nodes, links and their parameters.

Ports are numbered here: hosts count from 0, switches from 1, in the order of the links.
Mininet(topo=...) adds nodes and links in natural order of their names (h2 before h10), not in the
order in which they were added to the Topo.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from wanlab.errors import Problem, TopologyError, did_you_mean
from wanlab.topology import MAX_NODES

from .natural_order import natural, naturalSeq

Info = dict[str, Any]
"""Parameters of a node or a link, as the user has set them."""


def irange(start: int, end: int) -> range:
    """Return the range from start to end, both included."""
    return range(start, end + 1)


class ForeignGraph(Protocol):
    """A graph of another library, such as networkx.MultiGraph."""

    def add_nodes_from(self, nodes: Iterable[object], /) -> object: ...

    def add_edges_from(self, edges: Iterable[object], /) -> object: ...


GraphT = TypeVar("GraphT", bound=ForeignGraph)


class MultiGraph:
    """A graph whose nodes and edges have parameters; edges between the same nodes differ by a key."""

    def __init__(self) -> None:
        self.node: dict[str, Info] = {}
        self.edge: dict[str, dict[str, dict[Hashable, Info]]] = {}

    def add_node(self, node: str, attr_dict: Info | None = None, **attrs: object) -> None:
        self.node[node] = {**(attr_dict or {}), **attrs}
        self.edge.setdefault(node, {})

    def add_edge(
        self,
        src: str,
        dst: str,
        key: Hashable = None,
        attr_dict: Info | None = None,
        **attrs: object,
    ) -> Hashable:
        """Add an edge and return its key."""
        between = self.edge.setdefault(src, {}).setdefault(dst, {})
        self.edge.setdefault(dst, {})[src] = between
        if key is None:
            number = len(between) + 1
            while number in between:
                number += 1
            key = number
        between[key] = {**(attr_dict or {}), **attrs}
        return key

    def nodes(self, data: bool = False) -> Iterable[object]:
        return self.node.items() if data else self.node.keys()

    def each_edge(self) -> Iterator[tuple[str, str, Hashable, Info]]:
        """Yield each edge once, from the node that was added first."""
        seen = set()
        for src, neighbours in self.edge.items():
            seen.add(src)
            for dst, between in neighbours.items():
                if dst in seen and dst != src:
                    continue
                for key, info in between.items():
                    yield src, dst, key, info

    def edges_iter(self, data: bool = False, keys: bool = False) -> Iterator[tuple[object, ...]]:
        """Yield (source, destination), with the key and the parameters on request."""
        for src, dst, key, info in self.each_edge():
            yield (src, dst, *((key,) if keys else ()), *((info,) if data else ()))

    def edges(self, data: bool = False, keys: bool = False) -> list[tuple[object, ...]]:
        return list(self.edges_iter(data, keys))

    def __getitem__(self, node: str) -> dict[str, dict[Hashable, Info]]:
        return self.edge[node]

    def __len__(self) -> int:
        return len(self.node)

    def convertTo(
        self, cls: Callable[[], GraphT], data: bool = False, keys: bool = False
    ) -> GraphT:
        """Return a graph of another class, such as networkx.MultiGraph."""
        graph = cls()
        graph.add_nodes_from(self.nodes(data))
        graph.add_edges_from(self.edges(data=data, keys=keys) if keys or data else self.edges())
        return graph


class Topo:
    """The base class of topologies: override `build`, and call addHost, addSwitch and addLink there.

    hopts, sopts, lopts: parameters of every host, switch and link that is added without any.
    """

    def __init__(self, *args: Any, **params: Any) -> None:
        self.g = MultiGraph()
        self.hopts: Info = params.pop("hopts", {})
        self.sopts: Info = params.pop("sopts", {})
        self.lopts: Info = params.pop("lopts", {})
        # {node: {its port: (other node, port of the other node)}}
        self.ports: dict[str, dict[int, tuple[str, int]]] = {}
        self.build(*args, **params)

    def build(self, *args: Any, **params: Any) -> None:
        """Add nodes and links. Override this; the arguments are those of the constructor."""

    # -- adding -----------------------------------------------------------------------------------

    def addNode(self, name: str, **opts: object) -> str:
        if len(self.g) >= MAX_NODES:
            problem = f"a topology has at most {MAX_NODES} nodes"
            raise TopologyError([Problem("", problem, "choose smaller sizes")])
        self.g.add_node(name, opts)
        return name

    def addHost(self, name: str, **opts: object) -> str:
        return self.addNode(name, **(opts or self.hopts))

    def addSwitch(self, name: str, **opts: object) -> str:
        return self.addNode(name, isSwitch=True, **(opts or self.sopts))

    def addLink(
        self,
        node1: str,
        node2: str,
        port1: int | None = None,
        port2: int | None = None,
        key: Hashable = None,
        **opts: object,
    ) -> Hashable:
        """Add a link between two nodes and return its key."""
        for node in (node1, node2):
            if node not in self.g.node:
                known = did_you_mean(str(node), self.g.node)
                raise TopologyError([Problem("", f'there is no node "{node}" to link', known)])
        info = dict(opts or self.lopts)
        port1, port2 = self.addPort(node1, node2, port1, port2)
        info.update(node1=node1, node2=node2, port1=port1, port2=port2)
        return self.g.add_edge(node1, node2, key, info)

    def addPort(
        self, src: str, dst: str, sport: int | None = None, dport: int | None = None
    ) -> tuple[int, int]:
        """Record the ports of a link and return their numbers; by default, the next free ones."""
        of_src, of_dst = self.ports.setdefault(src, {}), self.ports.setdefault(dst, {})
        if sport is None:
            sport = len(of_src) + self.isSwitch(src)
        if dport is None:
            dport = len(of_dst) + self.isSwitch(dst)
        of_src[sport] = (dst, dport)
        of_dst[dport] = (src, sport)
        return sport, dport

    # -- reading ----------------------------------------------------------------------------------

    def isSwitch(self, n: str) -> bool:
        return bool(self.g.node[n].get("isSwitch", False))

    def nodes(self, sort: bool = True) -> list[str]:
        return self.sorted(self.g.node) if sort else list(self.g.node)

    def switches(self, sort: bool = True) -> list[str]:
        return [n for n in self.nodes(sort) if self.isSwitch(n)]

    def hosts(self, sort: bool = True) -> list[str]:
        return [n for n in self.nodes(sort) if not self.isSwitch(n)]

    def iterLinks(self, withKeys: bool = False, withInfo: bool = False) -> Iterator[Any]:
        """Yield (node1, node2), with the key and the parameters on request."""
        for _, _, key, info in self.g.each_edge():
            yield (
                info["node1"],
                info["node2"],
                *((key,) if withKeys else ()),
                *((info,) if withInfo else ()),
            )

    def links(
        self, sort: bool = False, withKeys: bool = False, withInfo: bool = False
    ) -> list[Any]:
        links = list(self.iterLinks(withKeys, withInfo))
        if not sort:
            return links
        names = 3 if withKeys else 2
        return sorted(links, key=lambda link: naturalSeq(link[:names]))

    def port(self, src: str, dst: str) -> tuple[int, int] | list[tuple[int, int]]:
        """Return (port of src, port of dst) of the link between them; a list if there are several."""
        pairs = [(sport, dport) for sport, (node, dport) in self.ports[src].items() if node == dst]
        return pairs[0] if len(pairs) == 1 else pairs

    def _linkEntry(
        self, src: str, dst: str, key: Hashable = None
    ) -> tuple[dict[Hashable, Info], Hashable]:
        between = self.g[src][dst]
        return between, next(iter(between)) if key is None else key

    def linkInfo(self, src: str, dst: str, key: Hashable = None) -> Info:
        between, key = self._linkEntry(src, dst, key)
        return between[key]

    def setlinkInfo(self, src: str, dst: str, info: Info, key: Hashable = None) -> None:
        between, key = self._linkEntry(src, dst, key)
        between[key] = info

    def nodeInfo(self, name: str) -> Info:
        return self.g.node[name]

    def setNodeInfo(self, name: str, info: Info) -> None:
        self.g.node[name] = info

    def convertTo(self, cls: Callable[[], GraphT], data: bool = True, keys: bool = True) -> GraphT:
        return self.g.convertTo(cls, data=data, keys=keys)

    @staticmethod
    def sorted(items: Iterable[str]) -> list[str]:
        return sorted(items, key=natural)


class SingleSwitchTopo(Topo):
    """k hosts on one switch."""

    def build(self, k: int = 2, **_opts: object) -> None:
        self.k = k
        switch = self.addSwitch("s1")
        for number in irange(1, k):
            self.addLink(self.addHost(f"h{number}"), switch)


class SingleSwitchReversedTopo(Topo):
    """k hosts on one switch, with host 1 on the last port."""

    def build(self, k: int = 2) -> None:
        self.k = k
        switch = self.addSwitch("s1")
        for number in irange(1, k):
            self.addLink(self.addHost(f"h{number}"), switch, port1=0, port2=k - number + 1)


class MinimalTopo(SingleSwitchTopo):
    """Two hosts on one switch."""

    def build(self) -> None:  # type: ignore[override]
        super().build(k=2)


class LinearTopo(Topo):
    """A chain of k switches with n hosts each."""

    def build(self, k: int = 2, n: int = 1, **_opts: object) -> None:
        self.k, self.n = k, n
        previous = None
        for i in irange(1, k):
            switch = self.addSwitch(f"s{i}")
            for j in irange(1, n):
                self.addLink(self.addHost(f"h{i}" if n == 1 else f"h{j}s{i}"), switch)
            if previous is not None:
                self.addLink(switch, previous)
            previous = switch
