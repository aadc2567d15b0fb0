"""Turns a resolved topology into the operations that build it, in the order of their execution.

Hosts and routers are namespaces. A switch is a bridge or an Open vSwitch. Its ports are in the root
namespace of the machine, as in Mininet, where the course's "client" terminal sees them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from wanlab.errors import Problem, TopologyError
from wanlab.operations import (
    ROOT,
    AddAddress,
    AddLink,
    AddNamespace,
    AddPrivateDirectory,
    AddRoute,
    AddVlanInterface,
    ConfigureRouting,
    JoinBridge,
    JoinOvs,
    LimitCpu,
    LinkEnd,
    MoveInterface,
    Operation,
    PrepareRouting,
    RunStartCommand,
    SetCpu,
    SetSpeed,
    SetSysctl,
    Shape,
    StartRouting,
    WriteFile,
)
from wanlab.topology.addresses import ipv6_of
from wanlab.topology.cpu import Processor
from wanlab.topology.gateways import unreachable_gateway
from wanlab.topology.model import (
    Controller,
    Host,
    Node,
    Port,
    Router,
    Switch,
    Topology,
    cpu_share,
    is_in_root,
    processor_of,
)
from wanlab.topology.nic import BY_RULE, Nic

from .change import load_trace
from .nic import Wire, nic_of, nic_operations
from .routing import programs_for
from .shaping import shape_lines
from .switches import join_early, join_late, make_bridges, make_ovs

# Bursts must wait in queues that are counted, and not be dropped silently behind veth.
BACKLOG_PACKETS = 1_000_000
PREFER_IPV4 = "precedence ::ffff:0:0/96 100\n"
"""Of two addresses of a name, programs take the IPv4 one unless they want IPv6 (gai.conf(5))."""


def plan(
    topology: Topology,
    *,
    wire: Wire = "mtu",
    nic: Nic = BY_RULE,
    sysctls: Mapping[str, str] | None = None,
    cpu: Processor | None = None,
    shares: bool = True,
) -> tuple[Operation, ...]:
    """Return all operations that build a topology, which has been checked and resolved.

    `nic` and `cpu` are the default NIC and processor of hosts and routers. `sysctls` are set in
    every node. `shares` says whether hosts get their shares of the computer's CPU, which have no effect
    where computing takes no time.
    TopologyError if a part of the topology cannot be built.
    """
    _refuse(topology)
    return tuple(_operations(topology, wire, nic, sysctls or {}, cpu, shares))


def settling_point(operations: Sequence[Operation]) -> int:
    """Return the index of the first operation before which the nodes must have settled.

    It is the first one that plugs a port into its switch, or starts a routing daemon.
    """
    late = (JoinBridge, JoinOvs, StartRouting)
    indexes = (index for index, operation in enumerate(operations) if isinstance(operation, late))
    return next(indexes, len(operations))


def _refuse(topology: Topology) -> None:
    problems = [
        Problem(
            str(switch),
            f"the switch kind {switch.kind} cannot be built",
            'use kind "ovs"; with datapath "user", it forwards in user space',
        )
        for switch in topology.switches
        if switch.kind not in ("bridge", "ovs")
    ]
    if problems:
        raise TopologyError(problems, topology.source.file)


def _operations(
    topology: Topology,
    wire: Wire,
    nic: Nic,
    sysctls: Mapping[str, str],
    cpu: Processor | None,
    shares: bool,
) -> Iterator[Operation]:
    yield SetSysctl(ROOT, "net.core.netdev_max_backlog", str(BACKLOG_PACKETS))
    if any(is_in_root(node) for node in topology.nodes):
        # Ports of a switch need no addresses; without this each would announce an IPv6 address.
        yield SetSysctl(ROOT, "net.ipv6.conf.default.disable_ipv6", "1")
    if any(router.frr is not None for router in topology.routers):
        yield PrepareRouting()
    for node in topology.nodes:
        if isinstance(node, Host | Router) and not is_in_root(node):
            yield AddNamespace(node.name)
            if processor := processor_of(node, cpu):
                yield SetCpu(node.name, processor.table())
            for key, value in sysctls.items():
                yield SetSysctl(node.name, key, value)
        if isinstance(node, Router):
            yield SetSysctl(node.name, "net.ipv4.ip_forward", "1")
            yield SetSysctl(node.name, "net.ipv6.conf.all.forwarding", "1")
        if isinstance(node, Host):
            for mount, backing in node.private_directories:
                yield AddPrivateDirectory(node.name, mount, backing)
        if isinstance(node, Host | Router) and shares and cpu is None:
            yield from _limits(node)
    yield from make_bridges(topology)
    for link in topology.links:
        a, b = link.ports
        if not any(isinstance(topology.node(port.node), Controller) for port in (a, b)):
            yield AddLink(*(_end(topology, port, wire, nic) for port in (a, b)))
    for node in topology.nodes:
        if isinstance(node, Host | Router | Switch):
            for interface in node.external_interfaces:
                yield MoveInterface(interface, _namespace(node))
    yield from _addresses(topology)
    for node in topology.nodes:
        for port in topology.ports(node.name):
            yield from _port(_namespace(node), node, port, wire, nic)
    yield WriteFile("/etc/hosts", hosts_file(topology))
    if topology.ipv6_base:
        yield WriteFile("/etc/gai.conf", PREFER_IPV4)
    yield from make_ovs(topology)
    yield from join_early(topology)
    yield from join_late(topology)
    for router in topology.routers:
        if router.frr is not None:
            yield StartRouting(router.name, programs_for(router.frr), router.frr)
            yield ConfigureRouting(router.name)
    for node in topology.nodes:
        if node.start_command:
            yield RunStartCommand(_namespace(node), node.start_command)


def _limits(node: Host | Router) -> Iterator[Operation]:
    share, cores = cpu_share(node), node.cores if isinstance(node, Host) else None
    if share is not None or cores is not None:
        yield LimitCpu(node.name, share, cores)


def _namespace(node: Node) -> str:
    """Return the namespace of a node's ports."""
    return ROOT if is_in_root(node) else node.name


def _end(topology: Topology, port: Port, wire: Wire, nic: Nic) -> LinkEnd:
    node = topology.node(port.node)
    assert port.name is not None, "a plan needs a resolved topology"
    starts_in_bridge = isinstance(node, Switch) and node.kind == "bridge" and node.stp
    bridge = node.name if starts_in_bridge else None
    queues = nic_of(node, port, wire, nic).queues
    return LinkEnd(_namespace(node), port.name, port.mac, port.mtu, bridge, queues)


def _addresses(topology: Topology) -> Iterator[Operation]:
    for node in topology.nodes:
        if isinstance(node, Switch):
            if node.ip and node.kind == "bridge":
                yield AddAddress(ROOT, node.name, node.ip)
            continue
        for port in topology.ports(node.name):
            if port.ip:
                assert port.name is not None
                yield AddAddress(_namespace(node), port.name, port.ip)
        if isinstance(node, Host):
            if address := ipv6_of(node, topology):
                yield AddAddress(_namespace(node), str(topology.ports(node.name)[0].name), address)
            yield from _vlan_interfaces(node, topology.ports(node.name))
        if (
            isinstance(node, Host)
            and node.default_route
            and not unreachable_gateway(node, topology)
        ):
            route = node.default_route.removeprefix("default ")
            default = route if " " in route else f"via {route}"
            yield AddRoute(_namespace(node), f"default {default}")
        if isinstance(node, Router):
            for route in node.routes:
                yield AddRoute(node.name, route)


def _vlan_interfaces(host: Host, ports: tuple[Port, ...]) -> Iterator[Operation]:
    """Yield VLAN interfaces on the host's first port, named as in MiniEdit: h1-eth0.100."""
    for address, vlan in host.vlan_interfaces:
        port = str(ports[0].name)
        yield AddVlanInterface(_namespace(host), port, vlan, f"{port}.{vlan}")
        yield AddAddress(_namespace(host), f"{port}.{vlan}", address)


def _port(namespace: str, node: Node, port: Port, wire: Wire, nic: Nic) -> Iterator[Operation]:
    name = port.name
    assert name is not None
    if port.speed_bps is not None:
        yield SetSpeed(namespace, name, _mbps(port))
    yield from nic_operations(namespace, name, nic_of(node, port, wire, nic), wire)
    lines = shape_lines(port)
    if lines:
        yield Shape(namespace, name, lines)
    yield from load_trace(namespace, port)


def _mbps(port: Port) -> int:
    assert port.speed_bps is not None
    mbps, rest = divmod(port.speed_bps, 1_000_000)
    if rest:
        raise TopologyError(
            [
                Problem(
                    f"port {port.name}",
                    f"a port's speed must be in whole Mbit/s, not {port.speed_bps} bit/s",
                    "use the link's rate for anything finer",
                )
            ]
        )
    return mbps


def hosts_file(topology: Topology) -> str:
    """Return the text of /etc/hosts, with every host and router by its name.

    A node has a line for its first address, and one for its first of the other family.
    """
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for node in topology.nodes:
        if not isinstance(node, Host | Router):
            continue
        addresses = [port.ip for port in topology.ports(node.name) if port.ip]
        if isinstance(node, Host) and (address := ipv6_of(node, topology)):
            addresses.append(address)
        first_of_family = {":" in address: address for address in reversed(addresses)}
        named = sorted(first_of_family.values(), key=addresses.index)
        lines += [f"{ipaddress.ip_interface(address).ip} {node.name}" for address in named]
    return "".join(f"{line}\n" for line in lines)
