"""Mininet: a network that is built by addHost, addSwitch and addLink, or from a Topo.

    net = Mininet(SingleSwitchTopo(3), link=TCLink)
    net.start()
    net.pingAll()
    net.stop()

Without `switch=` switches are bridges of the kernel. They are Open vSwitches if something needs
OpenFlow: a remote controller, a controller class of your own, a parameter such as `protocols`, or a
script that calls `ovs-ofctl`, `ovs-vsctl` or `dpctl`.
"""

from __future__ import annotations

import contextlib
import os as os
import random as random
import re as re
import select
import signal as signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain as chain
from itertools import groupby as groupby
from math import ceil as ceil
from sys import exit as exit
from time import sleep as sleep
from typing import Any, TypeVar

from wanlab.errors import Problem, RequirementError, TopologyError, WanlabError, did_you_mean
from wanlab.topology import loop_warnings

from .addresses import UNSPECIFIED, ipAdd, ipParse, ipStr, netParse
from .addresses import macColonHex as macColonHex
from .cli import CLI as CLI
from .commands import quietRun as quietRun
from .controllers import Controller, ControllerClass, DefaultController, needs_openflow
from .drop_report import report_drops
from .hosts import Node
from .limited import Host
from .link import Intf, Link
from .listening import waitListening as waitListening
from .live_network import live_network
from .log import debug, error, info
from .log import output as output
from .log import warn as warn
from .macs import next_mac
from .moduledeps import missing_name
from .nodelib import NAT, LinuxBridge
from .parameters import Params, caution
from .pause import pause_after_start
from .process_limits import ensureRoot as ensureRoot
from .process_limits import fixLimits as fixLimits
from .process_limits import numCores
from .switches import (
    OVSBridge,
    OVSSwitch,
    Switch,
    asks_for_openflow,
    script_uses_open_vswitch,
    start_together,
    wait_until_connected,
)
from .switches import OVSKernelSwitch as OVSKernelSwitch
from .term import Terminal
from .term import cleanUpScreens as cleanUpScreens
from .term import makeTerms as makeTerms
from .throughput import fmtBps as fmtBps
from .topo import Topo
from .trials import Trials

VERSION = "2.3.1"
BaseString = str

T = TypeVar("T")
NodeT = TypeVar("NodeT", bound=Node)
NodeClass = Callable[..., Node]
SwitchClass = Callable[..., Switch]
LinkClass = Callable[..., Link]
ControllerChoice = Controller | ControllerClass


class Mininet(Trials):
    """A network of hosts, switches, controllers and links. The order of the parameters is Mininet's."""

    def __init__(
        self,
        topo: Topo | None = None,
        switch: SwitchClass | None = None,
        host: NodeClass = Host,
        controller: ControllerChoice | list[ControllerChoice] | None = DefaultController,
        link: LinkClass = Link,
        intf: Callable[..., Intf] = Intf,
        build: bool = True,
        xterms: bool = False,
        cleanup: bool = False,
        ipBase: str = "10.0.0.0/8",
        inNamespace: bool = False,
        autoSetMacs: bool = False,
        autoStaticArp: bool = False,
        autoPinCpus: bool = False,
        listenPort: int | None = None,
        waitConnected: float | bool | None = False,
    ) -> None:
        live_network().watch_uses()
        self.topo = topo
        self.switch = switch
        self.host = host
        self.controller = controller
        self.link = link
        self.intf = intf
        self.cleanup = cleanup
        self.ipBase = ipBase
        self.ipBaseNum, self.prefixLen = netParse(ipBase)
        self.nextIP = (0xFFFFFFFF >> self.prefixLen & self.ipBaseNum) or 1
        self.inNamespace = inNamespace
        self.xterms = xterms
        self.autoSetMacs = autoSetMacs
        self.autoStaticArp = autoStaticArp
        self.autoPinCpus = autoPinCpus
        self.numCores = numCores()
        self.nextCore = 0
        self.listenPort = listenPort
        self.waitConn = waitConnected
        self.hosts: list[Node] = []
        self.switches: list[Switch] = []
        self.controllers: list[Controller] = []
        self.links: list[Link] = []
        self.terms: list[Terminal] = []
        self.nameToNode: dict[str, Node] = {}
        self.built = False
        self._default_bridges: list[Switch] = []
        self.init()
        if topo and build:
            try:
                self.build()
            except BaseException:
                self._remove_nodes()
                raise

    inited = False

    @classmethod
    def init(cls) -> None:
        """Prepare the class. Subclasses may override it."""
        if not cls.inited:
            fixLimits()
            cls.inited = True

    # -- adding -----------------------------------------------------------------------------------

    def addHost(self, name: str, cls: NodeClass | None = None, **params: object) -> Node:
        """Add a host with the next address."""
        self._check_is_new(name)
        defaults: Params = {
            "ip": f"{ipAdd(self.nextIP, self.prefixLen, self.ipBaseNum)}/{self.prefixLen}"
        }
        if self.autoSetMacs:
            defaults["mac"] = macColonHex(self.nextIP)
        if self.autoPinCpus:
            defaults["cores"] = self.nextCore
            self.nextCore = (self.nextCore + 1) % self.numCores
        self.nextIP += 1
        return self._add((cls or self.host)(name, **{**defaults, **params}), self.hosts)

    def addSwitch(self, name: str, cls: SwitchClass | None = None, **params: Any) -> Switch:
        self._check_is_new(name)
        defaults: Params = {"listenPort": self.listenPort, "inNamespace": self.inNamespace}
        chosen = cls or self.switch
        if chosen is None:
            chosen = self._switch_class(params)
            if params.get("failMode") == "standalone" and chosen is LinuxBridge:
                del params["failMode"]  # a bridge is always standalone
        switch = chosen(name, **{**defaults, **params})
        if cls is None and self.switch is None and type(switch) is LinuxBridge:
            self._default_bridges.append(switch)
        if not self.inNamespace and self.listenPort:
            self.listenPort += 1
        return self._add(switch, self.switches)

    def _switch_class(self, params: Params) -> SwitchClass:
        """Return the default class of a switch: a bridge, unless something needs OpenFlow."""
        if asks_for_openflow(params) or self._uses_open_vswitch:
            return OVSSwitch
        controllers = [*self._controller_choices(), *self.controllers]
        return OVSSwitch if any(map(needs_openflow, controllers)) else LinuxBridge

    @cached_property
    def _uses_open_vswitch(self) -> bool:
        return script_uses_open_vswitch()

    def _controller_choices(self) -> list[ControllerChoice | None]:
        return [*self.controller] if isinstance(self.controller, list) else [self.controller]

    def _convert_bridges(self) -> None:
        """Turn default bridges into Open vSwitches if a controller was added after them."""
        bridges, self._default_bridges = self._default_bridges, []
        if not any(map(needs_openflow, self.controllers)):
            return
        for bridge in bridges:
            if bridge.is_live:
                raise WanlabError(
                    f"{bridge.name} is already a bridge and cannot have a controller",
                    "use Mininet(switch=OVSSwitch), or add the controller before the switches",
                )
            OVSSwitch.convert_from_bridge(bridge)

    def addController(
        self,
        name: str | Controller = "c0",
        controller: ControllerChoice | None = None,
        **params: object,
    ) -> Controller | None:
        """Add a controller. `name` may be a controller instead of a name."""
        if isinstance(name, Controller):
            return self._add(name, self.controllers)
        chosen = controller or self.controller
        if isinstance(chosen, list):
            chosen = chosen[0]
        if not isinstance(chosen, Controller):
            assert chosen is not None, "this network has no controller class: addController(cls)"
            chosen = chosen(name, **params)
        if chosen is None:  # NullController
            return None
        return self._add(chosen, self.controllers)

    def _check_is_new(self, name: str) -> None:
        if name in self.nameToNode:
            raise WanlabError(f"there is a node {name} already", "choose another name")

    def _add(self, node: NodeT, nodes: list[NodeT]) -> NodeT:
        nodes.append(node)
        self.nameToNode[node.name] = node
        return node

    def addNAT(
        self,
        name: str = "nat0",
        connect: Node | bool = True,
        inNamespace: bool = False,
        **params: Any,
    ) -> NAT:
        """Add a gateway at the first switch (or at `connect`) and default routes to it.

        Call its configDefault afterwards.
        """
        nat = self.addHost(name, cls=NAT, inNamespace=inNamespace, subnet=self.ipBase, **params)
        assert isinstance(nat, NAT)
        if connect:
            self.addLink(nat, connect if isinstance(connect, Node) else self.switches[0])
            address = nat.params["ip"].split("/")[0]
            for host in self.hosts:
                if host.inNamespace:
                    host.setDefaultRoute(f"via {address}")
        return nat

    @staticmethod
    def randMac() -> str:
        """Return a MAC address that no other interface has; the same ones in every run."""
        return next_mac()

    def addLink(
        self,
        node1: Node | str,
        node2: Node | str,
        port1: int | None = None,
        port2: int | None = None,
        cls: LinkClass | None = None,
        **params: object,
    ) -> Link:
        """Add a link between two nodes, or the nodes of these names."""
        ends = [self[node] if isinstance(node, str) else node for node in (node1, node2)]
        options: Params = {"intf": self.intf, **params}
        options.setdefault("addr1", self.randMac())
        options.setdefault("addr2", self.randMac())
        if port1 is not None:
            options["port1"] = port1
        if port2 is not None:
            options["port2"] = port2
        link = (cls or self.link)(*ends, **options)
        self.links.append(link)
        return link

    # -- removing ---------------------------------------------------------------------------------

    def delNode(self, node: Node, nodes: list[Any] | None = None) -> None:
        """Remove a node with its links."""
        if nodes is None:
            lists: Sequence[list[Any]] = (self.hosts, self.switches, self.controllers)
            nodes = next((nodes for nodes in lists if node in nodes), [])
        if isinstance(node, Switch):
            node.stop(deleteIntfs=True)
        for link in [link for link in self.links if node in [end.node for end in link.ends()]]:
            link.reserve_ports()
            self.delLink(link)
        node.terminate()
        nodes.remove(node)
        del self.nameToNode[node.name]

    def delHost(self, host: Node) -> None:
        self.delNode(host, self.hosts)

    def delSwitch(self, switch: Switch) -> None:
        self.delNode(switch, self.switches)

    def delController(self, controller: Controller) -> None:
        self.delNode(controller, self.controllers)

    def delLink(self, link: Link) -> None:
        link.delete()
        self.links.remove(link)

    def linksBetween(self, node1: Node, node2: Node) -> list[Link]:
        return [
            link
            for link in self.links
            if [end.node for end in link.ends()] in ([node1, node2], [node2, node1])
        ]

    def delLinkBetween(
        self, node1: Node, node2: Node, index: int = 0, allLinks: bool = False
    ) -> Link | list[Link]:
        """Remove and return one of the links between two nodes, or all of them."""
        links = self.linksBetween(node1, node2)
        chosen = links if allLinks else [links[index]]
        for link in chosen:
            self.delLink(link)
        return chosen if allLinks else chosen[0]

    # -- reading ----------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Node:
        try:
            return self.nameToNode[key]
        except KeyError:
            hint = did_you_mean(str(key), self.nameToNode)
            raise UnknownNode([Problem("", f'there is no node "{key}"', hint)]) from None

    def __delitem__(self, key: str) -> None:
        self.delNode(self[key])

    def getNodeByName(self, *args: str) -> Any:
        """Return the node of a name; for several names, a list."""
        return self[args[0]] if len(args) == 1 else [self[name] for name in args]

    def get(self, *args: str) -> Any:
        return self.getNodeByName(*args)

    def __iter__(self) -> Iterator[str]:
        return (node.name for node in [*self.hosts, *self.switches, *self.controllers])

    def __len__(self) -> int:
        return len(self.hosts) + len(self.switches) + len(self.controllers)

    def __contains__(self, item: object) -> bool:
        return item in self.nameToNode

    def keys(self) -> list[str]:
        return list(self)

    def values(self) -> list[Node]:
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Node]]:
        return [(name, self[name]) for name in self]

    # -- building ---------------------------------------------------------------------------------

    def build(self) -> None:
        """Build the network that the Topo describes, and configure the hosts."""
        if self.topo:
            self.buildFromTopo(self.topo)
        self._convert_bridges()
        if self.inNamespace:
            self.configureControlNetwork()
        info("*** Configuring hosts\n")
        self.configHosts()
        if self.xterms:
            self.startTerms()
        if self.autoStaticArp:
            self.staticArp()
        self.built = True

    def buildFromTopo(self, topo: Topo | None = None) -> None:
        """Add the nodes and links of a Topo, in natural order of their names, as Mininet does."""
        topo = topo or self.topo
        assert topo is not None, "this network has no topology: buildFromTopo(topo)"
        info("*** Creating network\n")
        if not self.controllers and self.controller:
            info("*** Adding controller\n")
            for number, controller in enumerate(self._controller_choices()):
                if isinstance(controller, Controller):
                    self.addController(controller)
                else:
                    self.addController(f"c{number}", controller)
        info("*** Adding hosts:\n")
        for name in topo.hosts():
            self.addHost(name, **topo.nodeInfo(name))
            info(f"{name} ")
        info("\n*** Adding switches:\n")
        for name in topo.switches():
            parameters = {k: v for k, v in topo.nodeInfo(name).items() if k != "isSwitch"}
            self.addSwitch(name, **parameters)
            info(f"{name} ")
        info("\n*** Adding links:\n")
        for node1, node2, parameters in topo.links(sort=True, withInfo=True):
            self.addLink(**parameters)
            info(f"({node1}, {node2}) ")
        info("\n")

    def configureControlNetwork(self) -> None:
        """Refuse switches in their own namespaces, which would need a network to their controller."""
        raise RequirementError(
            "inNamespace=True is not supported: switches are in the root namespace, where their "
            "controller reaches them directly",
            "leave inNamespace out",
        )

    def configHosts(self) -> None:
        for host in self.hosts:
            info(f"{host.name} ")
            if host.intfs:
                host.configDefault()
            else:
                host.configDefault(ip=None, mac=None)
        info("\n")

    def start(self) -> None:
        """Build the network unless that was done, and start controllers and switches."""
        if not self.built:
            self.build()
        self._convert_bridges()
        live_network().create_pending()
        # A controller of the user's may know the loops; the bundled one makes switches learn.
        learns = any(controller.is_bundled for controller in self.controllers)
        for warning in loop_warnings(live_network().network.topology, with_silent=learns):
            caution(WanlabError(warning))
        info("*** Starting controller\n")
        for controller in self.controllers:
            info(f"{controller.name} ")
            controller.start()
        info("\n")
        info(f"*** Starting {len(self.switches)} switches\n")
        together: list[OVSSwitch] = []
        for switch in self.switches:
            info(f"{switch.name} ")
            starts_as_ours = type(switch).start in (OVSSwitch.start, OVSBridge.start)
            if isinstance(switch, OVSSwitch) and starts_as_ours:
                together.append(switch)
            else:
                switch.start(self.controllers)
        start_together(together, self.controllers)
        info("\n")
        pause_after_start()
        if self.waitConn:
            self.waitConnected(self.waitConn)

    def stop(self) -> None:
        """Stop and remove everything in the network."""
        report_drops()
        with live_network().removing_together():
            info(f"*** Stopping {len(self.controllers)} controllers\n")
            for controller in self.controllers:
                info(f"{controller.name} ")
                controller.stop()
            info("\n")
            if self.terms:
                info(f"*** Stopping {len(self.terms)} terms\n")
                self.stopXterms()
            info(f"*** Stopping {len(self.links)} links\n")
            for link in self.links:
                info(".")
                link.stop()
            info("\n")
            info(f"*** Stopping {len(self.switches)} switches\n")
            for switch in self.switches:
                info(f"{switch.name} ")
                switch.stop()
                switch.terminate()
            info("\n")
            info(f"*** Stopping {len(self.hosts)} hosts\n")
            for host in self.hosts:
                info(f"{host.name} ")
                host.terminate()
            info("\n*** Done\n")

    def _remove_nodes(self) -> None:
        """Remove the nodes of a network that could not be built."""
        with live_network().removing_together():
            for node in self.values():
                # A node's own `terminate` may fail too; the first error is the one to report.
                with contextlib.suppress(Exception):
                    node.terminate()

    def waitConnected(self, timeout: float | bool | None = None, delay: float = 0.5) -> bool:
        """Wait until all switches are connected; return whether they are.

        `timeout` is in seconds; None and True wait as long as it takes.
        """
        limit_s = None if timeout is None or timeout is True else float(timeout)
        return wait_until_connected(self.switches, limit_s, delay)

    def staticArp(self) -> None:
        """Add ARP entries for all pairs of hosts."""
        addresses = [(host.IP(), host.MAC()) for host in self.hosts]
        known = [(ip, mac) for ip, mac in addresses if ip and ip != UNSPECIFIED and mac]
        for host in self.hosts:
            others = [(ip, mac) for ip, mac in known if ip != host.IP()]
            host.add_arp_entries(others)

    # -- changing ---------------------------------------------------------------------------------

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:
        """Set all links between two nodes up or down; addresses and routes are kept."""
        if src not in self.nameToNode:
            error(f"src not in network: {src}\n")
            return
        if dst not in self.nameToNode:
            error(f"dst not in network: {dst}\n")
            return
        connections = self[src].connectionsTo(self[dst])
        if not connections:
            error(f"src and dst not connected: {src} {dst}\n")
        for pair in connections:
            for side, intf in zip(("src", "dst"), pair, strict=True):
                result = intf.ifconfig(status)
                if result:
                    error(f"link {side} status change failed: {result}\n")

    # -- using ------------------------------------------------------------------------------------

    def monitor(
        self, hosts: Iterable[Node] | None = None, timeoutms: int = -1
    ) -> Iterator[tuple[Node | None, str | None]]:
        """Yield (host, line) as hosts' commands write, and (None, None) on timeout."""
        poll = select.poll()
        for host in self.hosts if hosts is None else hosts:
            poll.register(host.stdout, select.POLLIN)
        while True:
            ready = poll.poll(timeoutms if timeoutms >= 0 else None)
            for descriptor, events in ready:
                writer = Node.fdToNode(descriptor)
                if writer is None or not events & select.POLLIN:
                    poll.unregister(descriptor)
                    continue
                line = writer.readline()
                if line is not None:
                    yield writer, line
            if not ready and timeoutms >= 0:
                yield None, None

    def run(self, test: Callable[..., T], *args: object, **kwargs: object) -> T:
        """Start the network, call `test`, stop the network, and return the result of the test."""
        try:
            self.start()
            return test(*args, **kwargs)
        finally:
            self.stop()

    def interact(self) -> CLI:
        """Start the network, run the prompt, and stop the network."""
        self.start()
        result = CLI(self)
        self.stop()
        return result

    def startTerms(self) -> None:
        """Open a terminal window for each node."""
        info("*** Running terms\n")
        groups: Sequence[tuple[Sequence[Node], str]] = (
            (self.controllers, "controller"),
            (self.switches, "switch"),
            (self.hosts, "host"),
        )
        for nodes, title in groups:
            self.terms += makeTerms(nodes, title)

    def stopXterms(self) -> None:
        for term in self.terms:
            term.terminate()
        self.terms = []


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name)


class UnknownNode(TopologyError, KeyError):
    """There is no node of that name."""


class MininetWithControlNet(Mininet):
    """Refused: switches in their own namespaces need OpenFlow's reference switch."""

    def configureControlNetwork(self) -> None:
        self.configureRoutedControlNetwork()

    def configureRoutedControlNetwork(self, ip: str = "192.168.123.1", prefixLen: int = 16) -> None:
        debug(f"control network {ipStr(ipParse(ip))}/{prefixLen}\n")
        super().configureControlNetwork()
