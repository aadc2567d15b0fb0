"""Adapts a plan to the computer's own kernel.

**A wire must not exert backpressure.** A packet stays charged to its sender's socket on its way through
veth and bridge, so TCP Small Queues counts a switch's queue as the sender's own and stops the sender:
queues stay nearly empty (docs/fidelity.md). Our kernel's veth releases the packet from the socket. Here
it is released

    by bridge netfilter     a bridge that passes its packets to iptables releases all of them
                            (setup_pre_routing in net/bridge/br_netfilter_hooks.c)
    by GRO on a switch      packets received through NAPI are prepared for GRO, which releases those of
                            TCP (skb_prepare_for_gro in include/net/sock.h): on wire="mtu" only, and
                            with a limit that keeps GRO from ever merging two packets

If neither is possible, the record has a warning. Routers release packets by themselves.

Settings of the whole computer (net.core.netdev_max_backlog) are not changed. Only our own kernel's veth
can cut super-packets and coalesce interrupts, so on wire="mtu" no host makes super-packets here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wanlab.errors import RequirementError
from wanlab.operations import (
    ROOT,
    AddBridge,
    JoinBridge,
    Operation,
    SetCoalesce,
    SetGroMaxSize,
    SetOffloads,
    SetSpeed,
    SetSysctl,
    SetWire,
)
from wanlab.topology.model import Topology
from wanlab.topology.nic import Nic

from .nic import Wire

SHARED_SYSCTLS = ("net.core.netdev_max_backlog",)
PASS_TO_NETFILTER = (
    "net.bridge.bridge-nf-call-iptables",
    "net.bridge.bridge-nf-call-ip6tables",
)
NO_MERGING_BYTES = 1


@dataclass(frozen=True)
class KernelFeatures:
    """Features of the computer's kernel on which a plan depends."""

    has_bridge_netfilter: bool


BACKPRESSURE = (
    "switches exert backpressure: a TCP sender counts a switch's queue as its own and does not fill "
    "it (load the kernel module br_netfilter, or use wire=mtu)"
)
UDP_BACKPRESSURE = (
    "switches exert backpressure on UDP senders, which wait where packets should be lost "
    "(load the kernel module br_netfilter)"
)


def native(
    operations: Iterable[Operation], wire: Wire, kernel: KernelFeatures | None
) -> tuple[Operation, ...]:
    """Return a plan for the computer's kernel.

    It has no operations that affect the whole computer or that only our kernel can perform, and it
    releases packets in the way that `kernel` allows (None: not known yet).
    """
    operations = tuple(
        _without_tso(operation, wire) for operation in operations if not _is_left_out(operation)
    )
    if kernel is None or not _has_switches(operations):
        return operations
    if kernel.has_bridge_netfilter:
        return (*(SetSysctl(ROOT, key, "1") for key in PASS_TO_NETFILTER), *operations)
    if wire == "gso":
        return operations
    switch_ports = {op.interface for op in operations if isinstance(op, JoinBridge)}
    return tuple(
        changed for operation in operations for changed in _with_gro(operation, switch_ports)
    )


def _is_left_out(operation: Operation) -> bool:
    return (
        isinstance(operation, SetCoalesce | SetWire)
        or (isinstance(operation, SetSysctl) and operation.key in SHARED_SYSCTLS)
        or (isinstance(operation, SetSpeed) and operation.speed_mbps == 0)
    )


def _without_tso(operation: Operation, wire: Wire) -> Operation:
    if wire == "mtu" and isinstance(operation, SetOffloads) and operation.features.get("tso"):
        features = {**operation.features, "tso": False, "gso": False}
        return SetOffloads(operation.node, operation.interface, features)
    return operation


def refuse_nics(topology: Topology, wire: Wire, nic: Nic) -> None:
    """Raise RequirementError if the user asks for a NIC that the computer's kernel cannot emulate."""
    nics = [("the network", nic)]
    nics += [(f"port {port}", port.nic) for link in topology.links for port in link.ports]
    refused = [
        f"{owner}: {what}"
        for owner, wanted in nics
        for what, is_refused in (
            ("coalescing", bool(wanted.coalescing_ns)),
            ("tso on wire=mtu", bool(wanted.tso) and wire == "mtu"),
        )
        if is_refused
    ]
    if refused:
        raise RequirementError(
            f"the native machine cannot emulate such a NIC ({'; '.join(refused)})",
            "leave it out, or use the embedded machine",
        )


def refuse_traces(topology: Topology) -> None:
    """Raise RequirementError if a link delivers by a trace: only our kernel has a qdisc for that."""
    ports = [port for link in topology.links for port in link.ports if port.conditions.trace]
    if ports:
        raise RequirementError(
            f"the native machine cannot deliver by a trace (port {ports[0]}): the computer's kernel "
            "has no queueing discipline that does",
            "use the embedded machine, or a schedule of rates",
        )


def _has_switches(operations: Iterable[Operation]) -> bool:
    return any(isinstance(operation, AddBridge) for operation in operations)


def _with_gro(operation: Operation, switch_ports: set[str]) -> Iterable[Operation]:
    if isinstance(operation, SetOffloads) and operation.interface in switch_ports:
        yield SetGroMaxSize(operation.node, operation.interface, NO_MERGING_BYTES)
        yield SetOffloads(operation.node, operation.interface, {**operation.features, "gro": True})
    else:
        yield operation


def native_warnings(
    operations: Iterable[Operation], wire: Wire, kernel: KernelFeatures
) -> list[str]:
    """Return warnings about the measurements in this network."""
    if kernel.has_bridge_netfilter or not _has_switches(operations):
        return []
    return [BACKPRESSURE] if wire == "gso" else [UDP_BACKPRESSURE]
