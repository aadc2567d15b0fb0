"""More topologies: a tree and a torus."""

from __future__ import annotations

from typing import Any

from wanlab.errors import WanlabError

from .net import Mininet
from .topo import Topo


class TreeTopo(Topo):
    """A tree of switches, numbered depth first, with hosts as leaves."""

    def build(self, depth: int = 1, fanout: int = 2) -> None:
        self.hostNum = 1
        self.switchNum = 1
        self.addTree(depth, fanout)

    def addTree(self, depth: int, fanout: int) -> str:
        """Add a subtree and return the name of its root."""
        root = self._add_root(depth)
        # A loop, because a tree may be deeper than Python recurses.
        branch = [(root, fanout)]  # from the root down, and how many children each lacks
        while branch:
            node, missing = branch.pop()
            if missing <= 0 or len(branch) >= depth:
                if branch:
                    self.addLink(branch[-1][0], node)
                continue
            branch.append((node, missing - 1))
            branch.append((self._add_root(depth - len(branch)), fanout))
        return root

    def _add_root(self, depth: int) -> str:
        """Add the root of a subtree: a switch, or a host if its depth is 0."""
        if depth <= 0:
            host = self.addHost(f"h{self.hostNum}")
            self.hostNum += 1
            return host
        switch = self.addSwitch(f"s{self.switchNum}")
        self.switchNum += 1
        return switch


def TreeNet(depth: int = 1, fanout: int = 2, **kwargs: Any) -> Mininet:
    """Return a Mininet with a TreeTopo. `kwargs` are those of Mininet."""
    return Mininet(TreeTopo(depth, fanout), **kwargs)


class TorusTopo(Topo):
    """x by y switches, each linked to its four neighbours across the edges, with n hosts each.

    It has loops, so its switches need the spanning tree protocol (stp=True).
    """

    def build(self, x: int, y: int, n: int = 1) -> None:
        if x < 3 or y < 3:
            raise WanlabError(
                f"a torus of {x} by {y} switches would have two links between the same neighbours",
                "use at least 3 by 3",
            )
        for i in range(x):
            for j in range(y):
                position = f"{i + 1}x{j + 1}"
                switch = self.addSwitch(f"s{position}", dpid=f"{(i + 1) * 256 + j + 1:x}")
                for k in range(n):
                    host = self.addHost(f"h{position}" if n == 1 else f"h{position}x{k + 1}")
                    self.addLink(host, switch)
        for i in range(x):
            for j in range(y):
                switch = f"s{i + 1}x{j + 1}"
                self.addLink(switch, f"s{i + 1}x{(j + 1) % y + 1}")
                self.addLink(switch, f"s{(i + 1) % x + 1}x{j + 1}")
