"""Mininet: a network that grows by addHost, addSwitch, addLink, or from a Topo.

    net = Mininet(SingleSwitchTopo(3), link=TCLink)
    net.start()
    net.pingAll()
    net.stop()

Without `switch=` switches are bridges of the kernel. They are Open vSwitches where something asks for
OpenFlow: a remote controller or one of your own, or a parameter such as protocols.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wanlab.errors import Problem, RequirementError, TopologyError, WanlabError, did_you_mean

from .controllers import Controller, DefaultController, leads
from .ground import ground
from .hosts import Node, next_mac
from .limited import Host
from .link import Intf, Link
from .log import debug, error, info, warn
from .nodelib import NAT, LinuxBridge
from .switches import OVSBridge, OVSSwitch, Switch, start_together
from .trials import Trials
from .util import ipAdd, ipParse, ipStr, macColonHex, netParse, numCores

VERSION = "2.3.1"
OPENFLOW_PARAMETERS = ("protocols", "datapath", "inband", "reconnectms")


class Mininet(Trials):
    """See the module. The order of the parameters is Mininet's."""

    def __init__(
        self,
        topo: Any = None,
        switch: Any = None,
        host: Any = Host,
        controller: Any = DefaultController,
        link: Any = Link,
        intf: Any = Intf,
        build: bool = True,
        xterms: bool = False,
        cleanup: bool = False,
        ipBase: str = "10.0.0.0/8",
        inNamespace: bool = False,
        autoSetMacs: bool = False,
        autoStaticArp: bool = False,
        autoPinCpus: bool = False,
        listenPort: int | None = None,
        waitConnected: Any = False,
    ) -> None:
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
        self.hosts: list[Any] = []
        self.switches: list[Any] = []
        self.controllers: list[Any] = []
        self.links: list[Any] = []
        self.terms: list[Any] = []
        self.nameToNode: dict[str, Any] = {}
        self.built = False
        self._undecided: list[Switch] = []
        self.init()
        if topo and build:
            try:
                self.build()
            except BaseException:
                self._give_up()
                raise

    inited = False

    @classmethod
    def init(cls) -> None:
        """Called once, for subclasses."""
        cls.inited = True

    # -- adding -----------------------------------------------------------------------------------

    def addHost(self, name: str, cls: Any = None, **params: Any) -> Any:
        """A host with the next address."""
        self._check_is_new(name)
        defaults: dict[str, Any] = {
            "ip": f"{ipAdd(self.nextIP, self.prefixLen, self.ipBaseNum)}/{self.prefixLen}"
        }
        if self.autoSetMacs:
            defaults["mac"] = macColonHex(self.nextIP)
        if self.autoPinCpus:
            defaults["cores"] = self.nextCore
            self.nextCore = (self.nextCore + 1) % self.numCores
        self.nextIP += 1
        return self._keep((cls or self.host)(name, **{**defaults, **params}), self.hosts)

    def addSwitch(self, name: str, cls: Any = None, **params: Any) -> Any:
        self._check_is_new(name)
        defaults = {"listenPort": self.listenPort, "inNamespace": self.inNamespace}
        chosen = cls or self.switch
        if chosen is None:
            chosen = self._switch_class(params)
            if params.get("failMode") == "standalone" and chosen is LinuxBridge:
                del params["failMode"]  # what a bridge does in any case
        switch = chosen(name, **{**defaults, **params})
        if cls is None and self.switch is None and type(switch) is LinuxBridge:
            self._undecided.append(switch)
        if not self.inNamespace and self.listenPort:
            self.listenPort += 1
        return self._keep(switch, self.switches)

    def _switch_class(self, params: dict[str, Any]) -> Any:
        """Where nothing says which switch: a bridge, unless something asks for OpenFlow."""
        asked = any(params.get(name) for name in OPENFLOW_PARAMETERS)
        if asked or params.get("failMode", "standalone") != "standalone":
            return OVSSwitch
        wanted = self.controller if isinstance(self.controller, list) else [self.controller]
        if any(leads(controller) for controller in [*wanted, *self.controllers]):
            return OVSSwitch
        return LinuxBridge

    def _decide(self) -> None:
        """A controller that came after the switches makes Open vSwitches of them."""
        undecided, self._undecided = self._undecided, []
        if not any(leads(controller) for controller in self.controllers):
            return
        for switch in undecided:
            if switch.is_live:
                raise WanlabError(
                    f"{switch.name} is a bridge already, which obeys no controller",
                    "Mininet(switch=OVSSwitch), or add the controller before the switches",
                )
            OVSSwitch.instead_of(switch)

    def addController(self, name: Any = "c0", controller: Any = None, **params: Any) -> Any:
        """`name` may be a controller that was made already."""
        if isinstance(name, Controller):
            return self._keep(name, self.controllers)
        chosen = controller or self.controller
        if isinstance(chosen, list):
            chosen = chosen[0]
        made = chosen if isinstance(chosen, Controller) else chosen(name, **params)
        if made is None:  # NullController
            return None
        return self._keep(made, self.controllers)

    def _check_is_new(self, name: str) -> None:
        if name in self.nameToNode:
            raise WanlabError(f"there is a node {name} already", "give each node a name of its own")

    def _keep(self, node: Any, nodes: list[Any]) -> Any:
        nodes.append(node)
        self.nameToNode[node.name] = node
        return node

    def addNAT(
        self, name: str = "nat0", connect: Any = True, inNamespace: bool = False, **params: Any
    ) -> NAT:
        """A gateway on the first switch, and hosts' default route to it. Then call its configDefault."""
        nat: NAT = self.addHost(
            name, cls=NAT, inNamespace=inNamespace, subnet=self.ipBase, **params
        )
        if connect:
            self.addLink(nat, connect if isinstance(connect, Node) else self.switches[0])
            address = nat.params["ip"].split("/")[0]
            for host in self.hosts:
                if host.inNamespace:
                    host.setDefaultRoute(f"via {address}")
        return nat

    @staticmethod
    def randMac() -> str:
        """A MAC of its own for each interface; the same ones in every run."""
        return next_mac()

    def addLink(
        self,
        node1: Any,
        node2: Any,
        port1: int | None = None,
        port2: int | None = None,
        cls: Any = None,
        **params: Any,
    ) -> Any:
        """A link between two nodes, or the nodes of these names."""
        ends = [self[node] if isinstance(node, str) else node for node in (node1, node2)]
        options = {"intf": self.intf, **params}
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

    def delNode(self, node: Any, nodes: list[Any] | None = None) -> None:
        """Removes a node, and what is linked to it loses that link."""
        if nodes is None:
            kinds = (self.hosts, self.switches, self.controllers)
            nodes = next((kind for kind in kinds if node in kind), [])
        if isinstance(node, Switch):
            node.stop(deleteIntfs=True)
        for link in [link for link in self.links if node in [end.node for end in link.ends()]]:
            self.delLink(link)
        node.terminate()
        nodes.remove(node)
        del self.nameToNode[node.name]

    def delHost(self, host: Any) -> None:
        self.delNode(host, self.hosts)

    def delSwitch(self, switch: Any) -> None:
        self.delNode(switch, self.switches)

    def delController(self, controller: Any) -> None:
        self.delNode(controller, self.controllers)

    def delLink(self, link: Any) -> None:
        link.delete()
        self.links.remove(link)

    def linksBetween(self, node1: Any, node2: Any) -> list[Any]:
        return [
            link
            for link in self.links
            if [end.node for end in link.ends()] in ([node1, node2], [node2, node1])
        ]

    def delLinkBetween(self, node1: Any, node2: Any, index: int = 0, allLinks: bool = False) -> Any:
        """Removes one of the links between two nodes, or all."""
        links = self.linksBetween(node1, node2)
        chosen = links if allLinks else [links[index]]
        for link in chosen:
            self.delLink(link)
        return chosen if allLinks else chosen[0]

    # -- asking -----------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        try:
            return self.nameToNode[key]
        except KeyError:
            hint = did_you_mean(str(key), self.nameToNode)
            raise UnknownNode([Problem("", f'there is no node "{key}"', hint)]) from None

    def __delitem__(self, key: str) -> None:
        self.delNode(self[key])

    def getNodeByName(self, *args: str) -> Any:
        """The node of a name; for several names, a list."""
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

    def values(self) -> list[Any]:
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Any]]:
        return [(name, self[name]) for name in self]

    # -- building ---------------------------------------------------------------------------------

    def build(self) -> None:
        """Makes what the Topo describes, and configures hosts."""
        if self.topo:
            self.buildFromTopo(self.topo)
        self._decide()
        if self.inNamespace:
            self.configureControlNetwork()
        info("*** Configuring hosts\n")
        self.configHosts()
        if self.xterms:
            self.startTerms()
        if self.autoStaticArp:
            self.staticArp()
        self.built = True

    def buildFromTopo(self, topo: Any = None) -> None:
        """In natural order of the names, as Mininet does."""
        topo = topo or self.topo
        info("*** Creating network\n")
        if not self.controllers and self.controller:
            info("*** Adding controller\n")
            wanted = self.controller if isinstance(self.controller, list) else [self.controller]
            for number, controller in enumerate(wanted):
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
        for one, two, parameters in topo.links(sort=True, withInfo=True):
            self.addLink(**parameters)
            info(f"({one}, {two}) ")
        info("\n")

    def configureControlNetwork(self) -> None:
        """Switches in namespaces of their own need a network for their controller."""
        raise RequirementError(
            "inNamespace=True: switches live in the root namespace, where their controller reaches "
            "them; a control network needs a switch that is a program",
            "leave it out",
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
        """Builds if that has not been done; then controllers and switches begin to work."""
        if not self.built:
            self.build()
        self._decide()
        ground.settle()
        info("*** Starting controller\n")
        for controller in self.controllers:
            info(f"{controller.name} ")
            controller.start()
        info("\n")
        info(f"*** Starting {len(self.switches)} switches\n")
        together = []
        for switch in self.switches:
            info(f"{switch.name} ")
            if type(switch).start in (OVSSwitch.start, OVSBridge.start):
                together.append(switch)
            else:
                switch.start(self.controllers)
        start_together(together, self.controllers)
        info("\n")
        if self.waitConn:
            self.waitConnected(self.waitConn)

    def stop(self) -> None:
        """Ends everything that the network has made."""
        with ground.leaving_together():
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

    def _give_up(self) -> None:
        """What could not be built leaves nothing behind."""
        with ground.leaving_together():
            for node in self.values():
                node.terminate()

    def waitConnected(self, timeout: Any = None, delay: float = 0.5) -> bool:
        """Waits until all switches work; None and True: as long as it takes."""
        info("*** Waiting for switches to connect\n")
        limit_s = None if timeout is None or timeout is True else float(timeout)
        waited_s = 0.0
        remaining = list(self.switches)
        while True:
            for switch in list(remaining):
                if switch.connected():
                    info(f"{switch} ")
                    remaining.remove(switch)
            if not remaining:
                info("\n")
                return True
            if limit_s is not None and waited_s >= limit_s:
                break
            time.sleep(delay)
            waited_s += delay
        warn(f"Timed out after {waited_s:g} seconds\n")
        for switch in remaining:
            warn(f"Warning: {switch.name} is not connected to a controller\n")
        return False

    def staticArp(self) -> None:
        """Everybody knows everybody's MAC."""
        known = [(host.IP(), host.MAC()) for host in self.hosts]
        for host in self.hosts:
            own = host.IP()
            host._neighbours([(ip, mac) for ip, mac in known if ip and mac and ip != own])

    # -- change -----------------------------------------------------------------------------------

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:
        """Takes all links between two nodes up or down; addresses and routes stay."""
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

    # -- life -------------------------------------------------------------------------------------

    def monitor(
        self, hosts: Iterable[Any] | None = None, timeoutms: int = -1
    ) -> Iterator[tuple[Any, str | None]]:
        """(host, line) as hosts' commands write; (None, None) if nothing came for a while."""
        watch = select.poll()
        for host in self.hosts if hosts is None else hosts:
            watch.register(host.stdout, select.POLLIN)
        while True:
            ready = watch.poll(timeoutms if timeoutms >= 0 else None)
            for descriptor, events in ready:
                host = Node.fdToNode(descriptor)
                if host is None or not events & select.POLLIN:
                    watch.unregister(descriptor)
                    continue
                line = host.readline()
                if line is not None:
                    yield host, line
            if not ready and timeoutms >= 0:
                yield None, None

    def run(self, test: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Starts, performs a test, stops; what the test returned."""
        try:
            self.start()
            return test(*args, **kwargs)
        finally:
            self.stop()

    def interact(self) -> Any:
        """Starts, offers the prompt, stops."""
        from .cli import CLI

        self.start()
        result = CLI(self)
        self.stop()
        return result

    def startTerms(self) -> None:
        """A terminal window for each node."""
        from .term import makeTerms

        info("*** Running terms\n")
        for nodes, title in (
            (self.controllers, "controller"),
            (self.switches, "switch"),
            (self.hosts, "host"),
        ):
            self.terms += makeTerms(nodes, title)

    def stopXterms(self) -> None:
        for term in self.terms:
            term.terminate()
        self.terms = []


class UnknownNode(TopologyError, KeyError):
    """No node of that name."""


class MininetWithControlNet(Mininet):
    """Switches in namespaces of their own, with a network for their controller: refused, because it
    needs Mininet's reference switch."""

    def configureControlNetwork(self) -> None:
        self.configureRoutedControlNetwork()

    def configureRoutedControlNetwork(self, ip: str = "192.168.123.1", prefixLen: int = 16) -> None:
        debug(f"control network {ipStr(ipParse(ip))}/{prefixLen}\n")
        super().configureControlNetwork()
