"""Links.

Link     a wire between two interfaces (Intf); takes no parameters of traffic control
TCLink   a wire between two TCIntf: bw, delay, jitter, loss, max_queue_size, ... (see `shaping`)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import wanlab
from wanlab.errors import WanlabError
from wanlab.topology import Link as TopologyLink

from .interfaces import MAX_NAME_CHARACTERS, Intf, NodeOfInterface, OVSIntf, TCIntf
from .live_network import live_network
from .log import debug, error, info
from .macs import next_mac
from .parameters import Params, is_ours
from .veth_pairs import makeIntfPair

__all__ = [
    "Intf",
    "Link",
    "OVSIntf",
    "OVSLink",
    "TCIntf",
    "TCLink",
    "TCULink",
    "debug",
    "error",
    "info",
    "makeIntfPair",
    "re",
]

IntfClass = Callable[..., Intf]


@dataclass(frozen=True)
class _End:
    """An end of a link that is being made, before its interface exists."""

    node: NodeOfInterface
    name: str
    port: int
    mac: str
    params: Params


class Link:
    """A wire between two nodes. `params` are for both ends, `params1` and `params2` for one."""

    def __init__(
        self,
        node1: NodeOfInterface,
        node2: NodeOfInterface,
        port1: int | None = None,
        port2: int | None = None,
        intfName1: str | None = None,
        intfName2: str | None = None,
        addr1: str | None = None,
        addr2: str | None = None,
        intf: IntfClass = Intf,
        cls1: IntfClass | None = None,
        cls2: IntfClass | None = None,
        params1: Params | None = None,
        params2: Params | None = None,
        fast: bool = True,
        **params: object,
    ) -> None:
        self.fast = fast
        self.is_foreign = not is_made_by_wanlab(type(self))
        """Whether a subclass creates its interfaces itself."""
        self.is_live = self.is_foreign
        """Whether the kernel has it."""
        end1 = self._end(node1, port1, intfName1, addr1, {**params, **(params1 or {})})
        # A link from a node to itself takes two ports of it.
        end2 = self._end(node2, port2, intfName2, addr2, {**params, **(params2 or {})}, other=end1)
        # They exist from the start, because the `config` of an interface may look at the link.
        self.intf1: Intf = None  # type: ignore[assignment]
        self.intf2: Intf = None  # type: ignore[assignment]
        self._planned = (end1, end2)
        if self.is_foreign:
            live_network().create_pending()
            names, macs = (end1.name, end2.name), (end1.mac, end2.mac)
            self.makeIntfPair(*names, *macs, node1, node2, deleteIntfs=False)
        else:  # before its interfaces: their `config` may run commands that use them
            live_network().add_link(self)
        existed = self.is_live
        try:
            self.intf1 = self._interface(cls1 or intf, end1)
            is_early = self.is_live and not existed
            self.intf2 = self._interface(cls2 or intf, end2)
            if is_early:  # a command in the `config` of intf1 needed it
                self.intf2.on_created(node_was_live=True)
        except Exception:
            for end in (end1, end2):
                end.node.delIntf(end.node.nameToIntf.get(end.name))
            if not self.is_foreign:
                live_network().remove_link(self)
            raise

    def _interface(self, cls: IntfClass, end: _End) -> Intf:
        parameters = {"name": end.name, "node": end.node, "port": end.port, **end.params}
        return cls(link=self, mac=end.mac, **parameters)

    def _end(
        self,
        node: NodeOfInterface,
        port: int | None,
        name: str | None,
        mac: str | None,
        params: Params,
        other: _End | None = None,
    ) -> _End:
        """Choose the name and the port of an end."""
        number = params.pop("port", None) if port is None else port
        if number is None:
            number = node.newPort()
            if other is not None and other.node is node and other.port == number:
                number += 1
        assert isinstance(number, int), f"{node.name}: a port is a whole number, not {number!r}"
        name = name or str(params.pop("intfName", None) or self.intfName(node, number))
        if len(name) > MAX_NAME_CHARACTERS:
            raise WanlabError(
                f"{name} is too long for an interface name ({MAX_NAME_CHARACTERS} characters)",
                "shorten the node's name, or set intfName1 and intfName2",
            )
        if node.nameToIntf.get(name) is not None:
            raise WanlabError(f"{node.name} has an interface {name} already", "choose another port")
        return _End(node, name, number, mac or next_mac(), params)

    def intfName(self, node: NodeOfInterface, n: int) -> str:
        """Return the name of a node's nth interface."""
        return f"{node.name}-eth{n}"

    @classmethod
    def makeIntfPair(
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: NodeOfInterface | None = None,
        node2: NodeOfInterface | None = None,
        deleteIntfs: bool = True,
    ) -> None:
        """Create both interfaces, each in its node.

        Only a subclass that overrides this method creates its interfaces this way. wanlab creates the
        interfaces of all other links.
        """
        makeIntfPair(intfname1, intfname2, addr1, addr2, node1, node2, deleteIntfs=deleteIntfs)

    @staticmethod
    def _ignore(*args: object, **kwargs: object) -> None:
        """Do nothing."""

    # -- as part of the live network ---------------------------------------------------------------

    def ends(self) -> tuple[Intf, Intf]:
        return self.intf1, self.intf2

    def nodes(self) -> list[NodeOfInterface]:
        return [end.node for end in self._planned]

    def made_ends(self) -> list[Intf]:
        """Return its interfaces, as far as they have been made."""
        return [intf for intf in self._made() if intf is not None]

    def _made(self) -> list[Intf | None]:
        made: tuple[Intf | None, ...] = self.ends()
        # While an interface is being made, its node knows it already.
        return [
            intf or end.node.nameToIntf.get(end.name)
            for intf, end in zip(made, self._planned, strict=True)
        ]

    @property
    def kernel_name(self) -> str:
        """The name that wanlab created its first interface with."""
        intf = self._made()[0]
        return intf.kernel_name if intf else self._planned[0].name

    def as_wanlab_link(self) -> TopologyLink:
        return TopologyLink(*map(self._port, self._planned, self._made()))

    def _port(self, end: _End, intf: Intf | None) -> wanlab.Port:
        if intf is None:  # it sets its own MAC address: see `is_early`
            return wanlab.Port(end.node.name, number=end.port, name=end.name)
        return wanlab.Port(
            intf.node.name,
            number=intf.node.ports[intf],
            name=intf.kernel_name,
            # A live node may have got a MAC address before its first link: see Intf.on_created.
            mac=None if intf.node.is_live else intf.mac,
            ip=intf.address_with_prefix(),
            speed_bps=intf.speed_bps(),
        )

    # -- removing ---------------------------------------------------------------------------------

    def reserve_ports(self) -> None:
        """Keep the numbers of its ports, as Mininet does if one of its nodes is deleted."""
        for end in self.ends():
            if end in end.node.ports:
                end.node.reserved_ports.add(end.node.ports[end])

    def delete(self) -> None:
        """Remove it with both interfaces."""
        for intf in self.ends():
            intf.restore_kernel_name()
            intf.node.delIntf(intf)
        if not self.is_foreign:
            live_network().remove_link(self)
        elif self.intf1.exists_in_kernel():
            self.intf1.run_ip(f"link del {self.intf1.name}")
        self.intf1.link = self.intf2.link = None

    def stop(self) -> None:
        """Remove it when the network ends."""
        self.delete()

    def status(self) -> str:
        return f"({self.intf1.status()} {self.intf2.status()})"

    def __str__(self) -> str:
        return f"{self.intf1}<->{self.intf2}"


def is_made_by_wanlab(cls: type) -> bool:
    """Whether wanlab creates the interfaces of this class of links."""
    for owner in cls.__mro__:
        if "makeIntfPair" in vars(owner):
            return is_ours(owner)
    return True


class TCLink(Link):
    """A link with traffic control at both ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("cls1", TCIntf)
        kwargs.setdefault("cls2", TCIntf)
        super().__init__(*args, **kwargs)


class TCULink(TCLink):
    """A TCLink without the offloads that a user-space switch does not support."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"txo": False, "rxo": False, **kwargs})


class OVSLink(Link):
    """A link between two Open vSwitches.

    Mininet uses patch ports. Here it is a pair of interfaces, so that it can be shaped and captured.
    """
