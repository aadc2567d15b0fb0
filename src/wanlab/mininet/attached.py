"""`mn --attach`: Mininet's objects for a network that already runs in this machine.

    net = attach()          hosts, switches and links, named as in that network's topology
    CLI(net)
    detach(net)             the network keeps running

`attach` creates and configures nothing, and `detach` removes nothing.
"""

from __future__ import annotations

import wanlab
from wanlab.topology import Controller as TopologyController
from wanlab.topology import Link as TopologyLink

from .controllers import connects, warn_of_absence
from .hosts import Node
from .limited import Host
from .link import Link
from .live_network import live_network
from .net import Mininet
from .nodelib import LinuxBridge
from .pause import pause_after_start
from .switches import OVSSwitch


def attach() -> Mininet:
    """Return a Mininet for the network of this machine. Raises RequirementError if it has none."""
    topology = live_network().attach()
    Mininet.inited = True  # leave the buffers of a running network as they are
    net = Mininet(controller=None, build=False)
    for node in topology.nodes:
        _add_node(net, node)
    for link in topology.links:
        if all(port.node in net for port in link.ports):
            _add_link(net, link)
    net.built = True
    pause_after_start()
    for controller in topology.controllers:
        if controller.kind != "outside" and not controller.is_ours:
            _look_for(controller)
    return net


def detach(net: Mininet) -> None:
    """End the shells of its nodes, and leave the network as it is."""
    net.stopXterms()
    for node in net.values():
        node.cleanup()
    live_network().close()


def _look_for(controller: TopologyController) -> None:
    """Warn of a controller that the switches are to connect to, and that is not there."""
    if not connects(controller.address, controller.port):
        warn_of_absence(controller.address, [controller.port])


def _add_node(net: Mininet, node: object) -> None:
    if isinstance(node, wanlab.Host):
        added: Node = Host(node.name, inNamespace=not node.in_root)
        net.hosts.append(added)
    elif isinstance(node, wanlab.Router):
        added = Node(node.name)
        net.hosts.append(added)
    elif isinstance(node, wanlab.Switch):
        cls = OVSSwitch if node.kind == "ovs" else LinuxBridge
        added = switch = cls(node.name, dpid=node.dpid)
        net.switches.append(switch)
        switch.is_started = True
    else:  # a controller was started with the network and is not one of Mininet's
        return
    net.nameToNode[added.name] = added


def _add_link(net: Mininet, link: TopologyLink) -> None:
    a, b = link.ports
    added = Link(
        net[a.node],
        net[b.node],
        port1=a.number,
        port2=b.number,
        intfName1=a.name,
        intfName2=b.name,
        addr1=a.mac,
        addr2=b.mac,
    )
    for port, intf in zip(link.ports, added.ends(), strict=True):
        if port.ip:
            address, _, prefix = port.ip.partition("/")
            intf.ip, intf.prefixLen = address, int(prefix or 8)
    net.links.append(added)
