"""More topologies: a tree, and a torus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wanlab.errors import WanlabError

from .topo import Topo

if TYPE_CHECKING:
    from .net import Mininet


class TreeTopo(Topo):
    """Switches in a tree, hosts are its leaves; switches are numbered depth first."""

    def build(self, depth: int = 1, fanout: int = 2) -> None:
        self.hostNum = 1
        self.switchNum = 1
        self.addTree(depth, fanout)

    def addTree(self, depth: int, fanout: int) -> str:
        """Adds a subtree and returns its top."""
        if depth <= 0:
            host = self.addHost(f"h{self.hostNum}")
            self.hostNum += 1
            return host
        switch = self.addSwitch(f"s{self.switchNum}")
        self.switchNum += 1
        for _ in range(fanout):
            self.addLink(switch, self.addTree(depth - 1, fanout))
        return switch


def TreeNet(depth: int = 1, fanout: int = 2, **kwargs: Any) -> Mininet:
    """A Mininet with a TreeTopo."""
    from .net import Mininet

    return Mininet(TreeTopo(depth, fanout), **kwargs)


class TorusTopo(Topo):
    """x by y switches, each linked to four neighbours, around the edges too; n hosts at each.

    It has loops, so its switches need the spanning tree protocol (stp=True).
    """

    def build(self, x: int, y: int, n: int = 1) -> None:
        if x < 3 or y < 3:
            raise WanlabError(
                f"a torus of {x} by {y} switches has two links between the same neighbours",
                "use 3 by 3 at least",
            )
        for i in range(x):
            for j in range(y):
                place = f"{i + 1}x{j + 1}"
                switch = self.addSwitch(f"s{place}", dpid=f"{(i + 1) * 256 + j + 1:x}")
                for k in range(n):
                    host = self.addHost(f"h{place}" if n == 1 else f"h{place}x{k + 1}")
                    self.addLink(host, switch)
        for i in range(x):
            for j in range(y):
                here = f"s{i + 1}x{j + 1}"
                self.addLink(here, f"s{i + 1}x{(j + 1) % y + 1}")
                self.addLink(here, f"s{(i + 1) % x + 1}x{j + 1}")
