"""`mn --attach`: Mininet's objects over a network that runs in this machine already.

    net = attach()          hosts, switches and links as the topology of that network names them
    CLI(net)
    leave(net)              the network goes on

What is there is taken as it is: nothing is made, configured or, in the end, taken away.
"""

from __future__ import annotations

from typing import Any

import wanlab
import wanlab.topology

from .ground import ground
from .hosts import Node
from .limited import Host
from .link import Link
from .net import Mininet
from .nodelib import LinuxBridge
from .switches import OVSSwitch


def attach() -> Mininet:
    """RequirementError if this machine carries no network that was started outside."""
    topology = ground.adopt()
    net = Mininet(controller=None, build=False)
    for node in topology.nodes:
        _take_node(net, node)
    for link in topology.links:
        if all(port.node in net for port in link.ports):
            _take_link(net, link)
    net.built = True
    return net


def leave(net: Mininet) -> None:
    """Ends the shells of its nodes, and nothing else."""
    net.stopXterms()
    for node in net.values():
        node.cleanup()
    ground.close()


def _take_node(net: Mininet, node: Any) -> None:
    nodes: list[Any]
    if isinstance(node, wanlab.Host):
        taken: Node = Host(node.name, inNamespace=not node.in_root)
        nodes = net.hosts
    elif isinstance(node, wanlab.Router):
        taken, nodes = Node(node.name), net.hosts
    elif isinstance(node, wanlab.Switch):
        kind = OVSSwitch if node.kind == "ovs" else LinuxBridge
        taken, nodes = kind(node.name, dpid=node.dpid), net.switches
        taken.is_started = True
    else:  # a controller is none of Mininet's here: it was started with the network
        return
    nodes.append(taken)
    net.nameToNode[taken.name] = taken


def _take_link(net: Mininet, link: wanlab.topology.Link) -> None:
    a, b = link.ports
    made = Link(
        net[a.node],
        net[b.node],
        port1=a.number,
        port2=b.number,
        intfName1=a.name,
        intfName2=b.name,
        addr1=a.mac,
        addr2=b.mac,
    )
    for port, intf in zip(link.ports, made.ends(), strict=True):
        if port.ip:
            address, _, prefix = port.ip.partition("/")
            intf.ip, intf.prefixLen = address, int(prefix or 8)
    net.links.append(made)
