"""Assign numbers, names and addresses by rules that are simple enough to predict the result.

    ports     hosts and routers count from 0, switches from 1, in link order, and skip numbers that
              are set explicitly:                 h1-eth0, s1-eth1, s1-eth2
    hosts     the nth host gets the nth address of the topology's base, on its first port, with the
              base's prefix:                      10.0.0.1/8, 10.0.0.2/8
              with an ipv6_base, also its nth:    fd00::1/64, fd00::2/64
    MACs      the first port of host n            00:00:00:00:00:0n
              any other port                      02:NN:NN:NN:PP:PP (position of its node, its number)
    dpids     an Open vSwitch: the number in its name, or its position among the switches

These are Mininet's rules. (Its MACs follow this rule with `mn --mac` and are random without it; here
they are always fixed.) If a file gives a host a number, it replaces the host's position, as in
MiniEdit. Explicit values are kept. Ports of routers, and the second and later ports of a host, get
no address: the author of the topology decides which networks they join.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv6Interface, ip_interface
from itertools import count

from wanlab.errors import WanlabError
from wanlab.topology.model import Controller, Host, Link, Node, Port, Router, Switch, Topology

FIRST_PORT_OF_A_SWITCH = 1  # port 0 is the switch itself


def resolve(topology: Topology) -> Topology:
    """Return the topology with every port named and numbered, and every host addressed."""
    numbered = number_ports(number_nodes(topology))
    positions = {node.name: position for position, node in enumerate(numbered.nodes, start=1)}
    nodes = {node.name: _with_address(node, numbered) for node in numbered.nodes}
    first_ports = {name: ports[0] for name in nodes if (ports := numbered.ports(name))}

    def addressed(port: Port) -> Port:
        node = nodes.get(port.node)
        mac = _mac(port.mac) or _automatic_mac(positions.get(port.node, 0), port.number or 0)
        if isinstance(node, Host) and port is first_ports[port.node]:
            # The node already has the explicit addresses of its first port.
            return replace(port, ip=node.ip or None, mac=node.mac)
        return replace(port, ip=_with_prefix(port.ip, topology.ip_base), mac=mac)

    links = tuple(
        replace(link, a=addressed(link.a), b=addressed(link.b)) for link in numbered.links
    )
    return replace(numbered, nodes=tuple(nodes[node.name] for node in numbered.nodes), links=links)


def number_nodes(topology: Topology) -> Topology:
    """Give each node without a number its position among the nodes of its kind.

    Controllers have no number, as in MiniEdit's files.
    """
    counters = {Host: count(1), Switch: count(1), Router: count(1)}

    def numbered(node: Node) -> Node:
        if isinstance(node, Controller):
            return node
        position = next(counters[type(node)])
        return node if node.number is not None else replace(node, number=position)

    return replace(topology, nodes=tuple(numbered(node) for node in topology.nodes))


def number_ports(topology: Topology) -> Topology:
    """Give each port without a number the next free one of its node, and a name based on it."""
    free = {node.name: _free_numbers(node, topology) for node in topology.nodes}

    def numbered(port: Port) -> Port:
        number = port.number
        if number is None:
            number = next(free[port.node]) if port.node in free else 0
        return replace(port, number=number, name=port.name or f"{port.node}-eth{number}")

    def both(link: Link) -> Link:
        a = numbered(link.a)
        return replace(link, a=a, b=numbered(link.b))

    return replace(topology, links=tuple(both(link) for link in topology.links))


def automatic_ip(ip_base: str, number: int) -> str:
    """Return the address of host `number`, counted from the host address in `ip_base`, if any.

    Raise WanlabError if the network has no such address.
    """
    base = IPv4Interface(ip_base)
    first = max(int(base.ip), int(base.network.network_address) + 1)
    address = first + number - 1
    if number < 1 or address >= int(base.network.broadcast_address):
        raise WanlabError(
            f"{base.network} has no address for host number {number}",
            "give the topology a larger ip_base, or the host its own ip",
        )
    return f"{IPv4Address(address)}/{base.network.prefixlen}"


IPV6_BASE = "fd00::/64"
"""The network of IPv6 addresses where no other is given: of unique local addresses (RFC 4193)."""


def automatic_ipv6(ipv6_base: str, number: int) -> str:
    """Return the IPv6 address of host `number`. WanlabError if the network has no such address."""
    network = IPv6Interface(ipv6_base).network
    if not 0 < number < network.num_addresses:
        raise WanlabError(
            f"{network} has no address for host number {number}", "use a larger ipv6_base"
        )
    return f"{network.network_address + number}/{network.prefixlen}"


def ipv6_of(host: Host, topology: Topology) -> str | None:
    """Return the automatic IPv6 address of a numbered host's first port, if it gets one."""
    if not topology.ipv6_base or not host.number or not topology.ports(host.name):
        return None
    return automatic_ipv6(topology.ipv6_base, host.number)


def _free_numbers(node: Node, topology: Topology) -> Iterator[int]:
    taken = {port.number for port in topology.ports(node.name)}
    first = FIRST_PORT_OF_A_SWITCH if isinstance(node, Switch) else 0
    return (number for number in count(first) if number not in taken)


def _with_address(node: Node, topology: Topology) -> Node:
    if isinstance(node, Switch) and node.kind == "ovs" and node.dpid is None:
        digits = re.search(r"[0-9]+", node.name)
        return replace(node, dpid=f"{int(digits[0]) if digits else node.number or 0:x}")
    if not isinstance(node, Host):
        return node
    first = next(iter(topology.ports(node.name)), Port(node.name))
    number = node.number or 0
    ip = (
        node.ip or first.ip or (automatic_ip(topology.ip_base, number) if node.ip is None else None)
    )
    # MiniEdit's files may number a host 0, and a MAC address of zeros is none.
    by_rule = _colons(number) if number else _automatic_mac(0, 0)
    mac = _mac(node.mac) or _mac(first.mac) or by_rule
    return replace(node, ip=_with_prefix(ip, topology.ip_base) or "", mac=mac)


def _with_prefix(ip: str | None, ip_base: str) -> str | None:
    """Give an address without a prefix that of the base."""
    if ip is None or "/" in ip or ip_interface(ip).version != IPv4Interface(ip_base).version:
        return ip
    return f"{ip}/{IPv4Interface(ip_base).network.prefixlen}"


def _mac(mac: str | None) -> str | None:
    """Return the MAC address; None if all its digits are zeros."""
    return None if mac is not None and mac.replace(":", "").strip("0") == "" else mac


def _automatic_mac(position: int, number: int) -> str:
    locally_administered = 0x02 << 40
    return _colons(locally_administered | (position & 0xFFFFFF) << 16 | number & 0xFFFF)


def _colons(mac: int) -> str:
    return mac.to_bytes(6, "big").hex(":")
