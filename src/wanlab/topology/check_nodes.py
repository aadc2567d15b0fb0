"""Check the fields of a single node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address, ip_interface, ip_network

from wanlab.errors import did_you_mean
from wanlab.topology.model import Controller, Host, Node, Router, Switch, Topology, cpu_share

MAX_NAME_LENGTH = 15  # Linux: IFNAMSIZ without the terminating zero
MAX_NODE_NUMBER = 2**24 - 1  # three bytes of an automatic MAC
MAX_VLAN = 4094
MAX_PRIORITY = 2**16 - 1  # IEEE 802.1D: two bytes of a bridge's identifier

SWITCH_KINDS = ("bridge", "ovs", "user", "userns", "ivs")
CONTROLLER_KINDS = ("learning", "remote", "outside", "inband", "ref", "ovsc")
PROTOCOLS = tuple(f"OpenFlow1{minor}" for minor in range(6))
FAIL_MODES = ("secure", "standalone")
DATAPATHS = ("kernel", "user")
SCHEDULERS = ("cfs", "rt")

# Interfaces that always exist, and the folders in /proc/sys/net/*/conf that are not interfaces.
RESERVED_NAMES = ("lo", "all", "default", "teql0", "ovs-system", "bonding_masters")

_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}")
_DPID = re.compile(r"[0-9A-Fa-f]{1,16}")
_CORES = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")
_OVS_ONLY = ("controllers", "protocols", "fail_mode", "listen_port", "netflow", "sflow")

Report = Callable[..., None]
"""Called with a field, what is wrong with it, and a hint."""


def check_node(report: Report, node: Node, topology: Topology) -> None:
    """Report every mistake in a node's fields."""
    check_name(report, "name", node.name)
    if node.number is not None and not 0 <= node.number <= MAX_NODE_NUMBER:
        hint = f"it must be from 0 to {MAX_NODE_NUMBER}"
        report("number", f"{node.number} is not a number for a node", hint)
    if isinstance(node, Host | Switch | Router):
        for name in node.external_interfaces:
            check_name(report, "external_interfaces", name)
    share = cpu_share(node)
    if share is not None and not 0 < share <= 1:
        report("cpu", f"a CPU share cannot be {share}", "it must be more than 0, at most 1")
    match node:
        case Host():
            _check_host(report, node, topology)
        case Switch():
            _check_switch(report, node, topology)
        case Router():
            for route in node.routes:
                _check_route(report, "routes", route)
            if node.frr is not None and not node.frr.strip():
                report("frr", "the FRRouting configuration is empty", "leave it out")
            elif node.frr is not None and len(node.frr.split()) == 1:
                hint = f"for a file, write: frr_file: {node.frr.strip()}"
                report("frr", f'"{node.frr.strip()}" is not the text of a frr.conf', hint)
        case Controller():
            _check_controller(report, node)


def is_name(name: str) -> bool:
    """Whether a node, and so a network interface, can have this name."""
    return _NAME.fullmatch(name) is not None and len(name) <= MAX_NAME_LENGTH


def check_name(report: Report, field: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "use letters and digits, and after the first character also . _ -"
        possible = _UNFIT.sub("_", name).strip("._-")[:MAX_NAME_LENGTH]
        if possible:
            hint += f", for example {possible}"
        report(field, f'"{name}" cannot be a name', hint)
    elif len(name) > MAX_NAME_LENGTH:
        hint = f"Linux allows {MAX_NAME_LENGTH} characters"
        report(field, f'the name "{name}" is {len(name)} characters long', hint)
    elif name in RESERVED_NAMES:
        report(field, f'the name "{name}" is reserved by Linux', "choose another name")


def _check_host(report: Report, host: Host, topology: Topology) -> None:
    if not host.in_root:  # the root namespace has 127.0.0.1, which Mininet gives to its switches
        check_ip(report, "ip", host.ip)
    check_mac(report, "mac", host.mac)
    if host.default_route is not None:
        words = host.default_route.split()
        route = (
            host.default_route if words[:1] in (["via"], ["dev"]) else f"via {host.default_route}"
        )
        _check_route(report, "default_route", f"default {route}")
    _check_vlan_interfaces(report, host, topology)
    _check_private_directories(report, host)
    if host.cores is not None and not _CORES.fullmatch(host.cores.replace(" ", "")):
        report("cores", f'"{host.cores}" does not name cores', 'as in "0,2" or "0-3"')
    _check_known(report, "scheduler", host.scheduler, SCHEDULERS)


def _check_vlan_interfaces(report: Report, host: Host, topology: Topology) -> None:
    field = "vlan_interfaces"
    if host.vlan_interfaces and not topology.ports(host.name):
        report(field, "a VLAN interface needs a port, and this host has none", "add a link")
    for ip, vlan in host.vlan_interfaces:
        check_ip(report, field, ip)
        check_vlan(report, field, vlan)
        first = next(iter(topology.ports(host.name)), None)
        name = f"{(first and first.name) or f'{host.name}-eth0'}.{vlan}"
        if len(name) > MAX_NAME_LENGTH:
            what = f'the interface of VLAN {vlan} would be called "{name}", {len(name)} characters'
            report(field, what, f"Linux allows {MAX_NAME_LENGTH}: give the host a shorter name")
    vlans = Counter(vlan for _, vlan in host.vlan_interfaces)
    for vlan in sorted(vlan for vlan, count in vlans.items() if count > 1):
        report(field, f"VLAN {vlan} has two interfaces", "keep one")


def _check_private_directories(report: Report, host: Host) -> None:
    field = "private_directories"
    if host.in_root and (host.private_directories or host.cpu or host.cores):
        what = "a host in the root namespace cannot have private folders, a processor or CPU limits"
        report(field if host.private_directories else "cpu", what, "leave in_root out")
    for mount, folder in host.private_directories:
        if not mount.startswith("/"):
            report(field, f'"{mount}" is not an absolute path', 'as in "/var/run"')
        elif mount.strip("/") == "":
            report(field, "the root folder cannot be private", "name folders in it")
        if folder is not None and not folder.startswith("/"):
            report(field, f'"{folder}" is not an absolute path', 'as in "/home/me/log"')


def _check_switch(report: Report, switch: Switch, topology: Topology) -> None:
    _check_known(report, "kind", switch.kind, SWITCH_KINDS)
    check_ip(report, "ip", switch.ip)
    if switch.dpid is not None and not _DPID.fullmatch(switch.dpid):
        report("dpid", f'"{switch.dpid}" is not a datapath ID', "1 to 16 hexadecimal digits")
    known = [controller.name for controller in topology.controllers]
    for name in switch.controllers:
        if name not in known:
            hint = did_you_mean(name, known)
            report("controllers", f'there is no controller "{name}"', hint)
    if switch.priority is not None and not 0 <= switch.priority <= MAX_PRIORITY:
        hint = f"it must be from 0 to {MAX_PRIORITY}"
        report("priority", f"{switch.priority} is not a priority", hint)
    elif switch.priority is not None and not switch.stp:
        report("priority", "a priority has no effect without stp", "set both, or neither")
    if switch.kind == "bridge":
        _check_bridge(report, switch)
    if switch.kind == "ovs":
        _check_ovs(report, switch)


def _check_bridge(report: Report, switch: Switch) -> None:
    for field in _OVS_ONLY:
        if getattr(switch, field) not in (None, ()):
            report(field, f"a bridge does not support {field}", 'use kind "ovs", Open vSwitch')
    if switch.datapath != "kernel":
        report("datapath", "a bridge forwards in the kernel", 'use kind "ovs", Open vSwitch')


def _check_ovs(report: Report, switch: Switch) -> None:
    if switch.vlan_filtering:
        report("vlan_filtering", "an Open vSwitch always separates VLANs", "leave it out")
    for protocol in switch.protocols:
        _check_known(report, "protocols", protocol, PROTOCOLS)
    _check_known(report, "fail_mode", switch.fail_mode, FAIL_MODES)
    _check_known(report, "datapath", switch.datapath, DATAPATHS)
    if switch.listen_port is not None:
        _check_port_number(report, "listen_port", switch.listen_port)
    for field in ("netflow", "sflow"):
        collector = getattr(switch, field)
        if collector is None:
            continue
        _check_target(report, field, collector.target)
        for name, number in vars(collector).items():
            if isinstance(number, int) and not isinstance(number, bool) and number < 1:
                report(field, f"{name} cannot be {number}", "it must be at least 1")


def _check_target(report: Report, field: str, target: str) -> None:
    address, _, port = target.rpartition(":")
    try:
        ip_address(address.strip("[]"))
        is_target = 1 <= int(port) <= 65535
    except ValueError:
        is_target = False
    if not is_target:
        report(field, f'"{target}" is not an address and a port', 'as in "127.0.0.1:9996"')


def _check_controller(report: Report, controller: Controller) -> None:
    _check_known(report, "kind", controller.kind, CONTROLLER_KINDS)
    _check_known(report, "protocol", controller.protocol, ("tcp", "ssl"))
    if controller.protocol == "ssl" and controller.is_ours:
        report("protocol", "the learning controller does not support ssl", "use tcp")
    if controller.kind == "outside" and ":" in controller.address:
        report("address", "an outside controller needs an IPv4 address", 'as in "127.0.0.1"')
    _check_port_number(report, "port", controller.port)
    try:
        ip_address(controller.address)
    except ValueError:
        report("address", f'"{controller.address}" is not an IP address', 'as in "127.0.0.1"')


def _check_known(report: Report, field: str, word: str | None, known: tuple[str, ...]) -> None:
    if word is not None and word not in known:
        report(field, f'unknown {field} "{word}"', did_you_mean(word, known))


def _check_port_number(report: Report, field: str, port: int) -> None:
    if not 1 <= port <= 65535:
        report(field, f"{port} is not a port number", "it must be from 1 to 65535")


def check_vlan(report: Report, field: str, vlan: int) -> None:
    if not 1 <= vlan <= MAX_VLAN:
        report(field, f"{vlan} is not a VLAN number", f"it must be from 1 to {MAX_VLAN}")


def check_ip(report: Report, field: str, ip: str | None) -> None:
    if not ip:
        return
    try:
        address = ip_interface(ip)
    except ValueError:
        report(field, f'"{ip}" is not an IP address', 'as in "10.0.0.1/8"')
        return
    network = address.network
    if network.num_addresses > 2 and address.ip == network.network_address:
        report(field, f"{ip} is the network address", f"as in {address.ip + 1}")
        return
    is_ipv4 = address.version == 4
    if is_ipv4 and network.num_addresses > 2 and address.ip == network.broadcast_address:
        report(field, f"{ip} is the broadcast address of its network", f"as in {address.ip - 1}")
        return
    for is_it, kind in (
        (address.ip.is_loopback, "a loopback"),
        (address.ip.is_multicast, "a multicast"),
        (address.ip.is_unspecified, "the unspecified"),
    ):
        if is_it:
            report(field, f"{ip} is {kind} address", 'as in "10.0.0.1/8"')


def check_mac(report: Report, field: str, mac: str | None) -> None:
    if mac is None:
        return
    if not _MAC.fullmatch(mac):
        report(field, f'"{mac}" is not a MAC address', 'as in "00:00:00:00:00:01"')
    elif int(mac[:2], 16) & 1:
        report(field, f"the MAC address {mac} is multicast", "its first byte must be even")
    elif not int(mac.replace(":", ""), 16):
        report(
            field, f"the MAC address {mac} is all zeros", "leave it out to get one automatically"
        )


def _check_route(report: Report, field: str, route: str) -> None:
    """Check the destination and the next hop of a route; `ip route` checks the rest."""
    target, *words = route.split() or [""]
    try:
        if target != "default":
            ip_network(target, strict=False)
        pairs = dict(zip(words[::2], words[1::2], strict=True))
        if "via" in pairs:
            ip_address(pairs["via"])
        if not {"via", "dev"} & pairs.keys():
            raise ValueError(route)
    except ValueError:
        report(field, f'"{route}" is not a route', 'as in "10.0.2.0/24 via 10.0.1.2"')
