"""The NIC behind a port: its default settings, and the operations that set it up.

On `wire="gso"` a NIC is Linux's veth, and only settings that the user asked for are changed. On
`wire="mtu"` every port cuts the data that it sends into packets of one MTU (kernel/patches/0012), and

    a host      has TSO, GRO and interrupt coalescing, as a server has. A port with conditions has no
                TSO: its queues stand for the wire, where super-packets never appear.
    a router    has none of these, so that its queues count single packets, as in a hardware router
    a switch    has none of these, and they cannot be switched on

Without coalescing every packet would wake its receiver separately, because computing takes no time
here. 250 us correspond to the 4000 interrupts a second that Intel's NICs allow for bulk traffic in
their usual mode (the kernel's Documentation/networking/device_drivers/ethernet/intel/e1000.rst).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from wanlab.operations import Operation, SetCoalesce, SetOffloads, SetWire
from wanlab.topology.model import Host, Node, Port, Router
from wanlab.topology.nic import Nic

from .shaping import shape_lines

Wire = Literal["mtu", "gso"]
"""The size of the packets on a link: `mtu`, at most one MTU, as on a real wire; `gso`, up to 64 KB,
as on Linux's veth (faster, but loss and queues then count super-packets)."""

COALESCE_NS = 250_000


def nic_of(node: Node, port: Port, wire: Wire, network_nic: Nic) -> Nic:
    """Return the NIC behind a port. The port's own settings come first, then `network_nic`, then the
    defaults above; None leaves a setting as Linux has it."""
    if not isinstance(node, Host | Router):
        return Nic(tso=False, gro=False) if wire == "mtu" else Nic()
    return port.nic.over(network_nic.over(_default_nic(node, port, wire)))


def _default_nic(node: Node, port: Port, wire: Wire) -> Nic:
    if wire == "gso":
        return Nic()
    if isinstance(node, Router):
        return Nic(tso=False, gro=False)
    return Nic(tso=not shape_lines(port), gro=True, coalescing_ns=COALESCE_NS)


def nic_operations(namespace: str, interface: str, nic: Nic, wire: Wire) -> Iterator[Operation]:
    """Yield the operations that set up the wire and the NIC of one interface."""
    if wire == "mtu":
        yield SetWire(namespace, interface)
    features: dict[str, bool] = {}
    if nic.tso is not None:
        features |= {"tso": nic.tso, "gso": nic.tso}
    if nic.gro is not None:
        features |= {"gro": nic.gro}
    if features:
        yield SetOffloads(namespace, interface, features)
    if nic.coalescing_ns is not None:
        yield SetCoalesce(namespace, interface, nic.coalescing_ns // 1000)
