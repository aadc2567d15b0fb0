"""Finds default routes that the kernel will not accept, and routers that cannot forward.

A gateway must be in one of the host's own networks. Another gateway is usually a mistake, but it may be
the task of a lab about repairing a network. So it is a warning, and the host starts without a default
route, as in Mininet and MiniEdit.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_interface

from .model import Host, Router, Topology


def unreachable_gateway(host: Host, topology: Topology) -> str | None:
    """Return the gateway of a host of a resolved topology if it is in none of the host's networks."""
    words = (host.default_route or "").removeprefix("default ").split()
    if not words or "onlink" in words or words[0] == "dev":
        return None
    gateway = ip_address(words[words.index("via") + 1] if "via" in words else words[0])
    addresses = addresses_of(host, topology)
    if not addresses or any(gateway in ip_interface(address).network for address in addresses):
        return None
    return str(gateway)


def addresses_of(host: Host, topology: Topology) -> list[str]:
    """Return the addresses of a host's ports and VLAN interfaces."""
    addresses = [port.ip for port in topology.ports(host.name) if port.ip]
    return addresses + [address for address, _ in host.vlan_interfaces]


def gateway_warnings(topology: Topology) -> Iterator[str]:
    """Yield a sentence for each host of a resolved topology whose gateway cannot be reached, and for
    each router to which nothing gives an address.
    """
    for node in topology.nodes:
        if isinstance(node, Router) and _has_no_address(node, topology):
            yield (
                f"{node} has no address, so it forwards nothing: give each of its ports one, as in "
                "b_port: {ip: 10.0.1.254/24}"
            )
        if isinstance(node, Host) and (gateway := unreachable_gateway(node, topology)):
            yield (
                f"{node} has no default route: the gateway {gateway} is not in a network of the "
                f"host (its addresses: {', '.join(addresses_of(node, topology))})"
            )


def _has_no_address(router: Router, topology: Topology) -> bool:
    ports = topology.ports(router.name)
    is_configured = router.frr or router.start_command or router.external_interfaces
    return bool(ports) and not is_configured and not any(port.ip for port in ports)
