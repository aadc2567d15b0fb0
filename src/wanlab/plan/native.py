"""What is different in a plan for the computer's own kernel.

**A wire must not push back.** A packet keeps hold of its sender's socket through veth and bridge, so
that TCP Small Queues counts a switch's queue as the sender's own and stops it: queues stay nearly
empty (docs/fidelity.md). Our kernel's veth lets go of the socket; here it is done

    by bridge netfilter     a bridge that shows its packets to iptables lets go of all of them
                            (setup_pre_routing in net/bridge/br_netfilter_hooks.c)
    by GRO on a switch      what is received by way of NAPI is prepared for GRO, and lets go if it is
                            TCP's (skb_prepare_for_gro in include/net/sock.h): on wire="mtu" only,
                            and with a limit that never lets two packets be joined

and where neither is to be had, the record says so. Routers let go of packets by themselves.

What belongs to the whole computer (net.core.netdev_max_backlog) is left as it is. No port cuts
super-packets or moderates interrupts, which our own kernel's veth does: on wire="mtu" no host makes
super-packets.
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

OF_THE_COMPUTER = ("net.core.netdev_max_backlog",)
SHOW_TO_NETFILTER = (
    "net.bridge.bridge-nf-call-iptables",
    "net.bridge.bridge-nf-call-ip6tables",
)
NEVER_BYTES = 1


@dataclass(frozen=True)
class Kernel:
    """What was found out about the computer's kernel."""

    has_bridge_netfilter: bool


PUSHES_BACK = (
    "switches push back: a TCP sender takes a switch's queue for its own and does not fill it "
    "(load the kernel module br_netfilter, or use wire=mtu)"
)
PUSHES_UDP_BACK = (
    "switches push UDP senders back, so that they wait where packets should be lost "
    "(load the kernel module br_netfilter)"
)


def native(
    operations: Iterable[Operation], wire: Wire, kernel: Kernel | None
) -> tuple[Operation, ...]:
    """The same plan for the computer's kernel. Without what belongs to the whole computer, without what
    says that there is no limit, and with the remedy that the kernel has (None: not known yet)."""
    operations = tuple(
        _without_a_card(operation, wire) for operation in operations if not _is_left_out(operation)
    )
    if kernel is None or not _has_switches(operations):
        return operations
    if kernel.has_bridge_netfilter:
        return (*(SetSysctl(ROOT, key, "1") for key in SHOW_TO_NETFILTER), *operations)
    if wire == "gso":
        return operations
    switch_ports = {op.interface for op in operations if isinstance(op, JoinBridge)}
    return tuple(
        changed for operation in operations for changed in _by_napi(operation, switch_ports)
    )


def _is_left_out(operation: Operation) -> bool:
    return (
        isinstance(operation, SetCoalesce | SetWire)
        or (isinstance(operation, SetSysctl) and operation.key in OF_THE_COMPUTER)
        or (isinstance(operation, SetSpeed) and operation.speed_mbps == 0)
    )


def _without_a_card(operation: Operation, wire: Wire) -> Operation:
    if wire == "mtu" and isinstance(operation, SetOffloads) and operation.features.get("tso"):
        features = {**operation.features, "tso": False, "gso": False}
        return SetOffloads(operation.node, operation.interface, features)
    return operation


def refuse_cards(topology: Topology, wire: Wire, nic: Nic) -> None:
    """RequirementError if a card is asked for that the computer's own kernel cannot play."""
    asked = [("the network", nic)]
    asked += [(f"port {port}", port.nic) for link in topology.links for port in link.ports]
    refused = [
        f"{whose}: {what}"
        for whose, card in asked
        for what, is_asked in (
            ("coalescing", bool(card.coalescing_ns)),
            ("tso on wire=mtu", bool(card.tso) and wire == "mtu"),
        )
        if is_asked
    ]
    if refused:
        raise RequirementError(
            f"the native machine has no such card ({'; '.join(refused)})",
            "leave it out, or use the embedded machine",
        )


def refuse_traces(topology: Topology) -> None:
    """RequirementError if a link delivers by a trace: only our own kernel has a qdisc for that."""
    ports = [port for link in topology.links for port in link.ports if port.conditions.trace]
    if ports:
        raise RequirementError(
            f"the native machine cannot deliver by a trace (port {ports[0]}): the computer's kernel "
            "has no queueing discipline that does",
            "use the embedded machine, or a schedule of rates",
        )


def _has_switches(operations: Iterable[Operation]) -> bool:
    return any(isinstance(operation, AddBridge) for operation in operations)


def _by_napi(operation: Operation, switch_ports: set[str]) -> Iterable[Operation]:
    if isinstance(operation, SetOffloads) and operation.interface in switch_ports:
        yield SetGroMaxSize(operation.node, operation.interface, NEVER_BYTES)
        yield SetOffloads(operation.node, operation.interface, {**operation.features, "gro": True})
    else:
        yield operation


def native_warnings(operations: Iterable[Operation], wire: Wire, kernel: Kernel) -> list[str]:
    """What to know before trusting a measurement in this network."""
    if kernel.has_bridge_netfilter or not _has_switches(operations):
        return []
    return [PUSHES_BACK] if wire == "gso" else [PUSHES_UDP_BACK]
