"""The card behind a port: what it does by rule, and the operations that make it so.

On `wire="gso"` a card is veth as Linux has it, and only what was asked for is changed. On `wire="mtu"`
every port cuts what it sends into packets of one MTU (kernel/patches/0012), and

    a host      has TSO, GRO and moderated interrupts, as a server has. A port with conditions of its own
                has no TSO: its queues stand for the wire, and must not see what the wire never sees.
    a router    has none of these, so that its queues count single packets, as in a router of hardware
    a switch    has none, and cannot be given any

Without moderation every packet would wake its receiver by itself where computing takes no time. 250 us
are the 4000 interrupts a second that Intel's cards leave bulk traffic in their usual mode
(the kernel's Documentation/networking/device_drivers/ethernet/intel/e1000.rst).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from wanlab.agent.operations import Operation, SetModeration, SetOffloads, SetWire
from wanlab.topology.model import Host, Node, Port, Router
from wanlab.topology.nic import Nic

from .shaping import shape_lines

Wire = Literal["mtu", "gso"]
"""How a link carries packets: `mtu`, each at most one MTU as on a real wire; `gso`, up to 64 KB at
once as veth does by itself (fast; what loss and queues count is then super-packets)."""

MODERATION_NS = 250_000


def card_of(node: Node, port: Port, wire: Wire, wanted: Nic) -> Nic:
    """The card behind a port. `wanted` holds for the whole network; None is left as Linux has it."""
    if not isinstance(node, Host | Router):
        return Nic(tso=False, gro=False) if wire == "mtu" else Nic()
    return port.nic.over(wanted.over(_rule(node, port, wire)))


def _rule(node: Node, port: Port, wire: Wire) -> Nic:
    if wire == "gso":
        return Nic()
    if isinstance(node, Router):
        return Nic(tso=False, gro=False)
    return Nic(tso=not shape_lines(port), gro=True, moderation_ns=MODERATION_NS)


def card_operations(home: str, name: str, card: Nic, wire: Wire) -> Iterator[Operation]:
    """Operations that give the port `name` its wire and its card."""
    if wire == "mtu":
        yield SetWire(home, name)
    features: dict[str, bool] = {}
    if card.tso is not None:
        features |= {"tso": card.tso, "gso": card.tso}
    if card.gro is not None:
        features |= {"gro": card.gro}
    if features:
        yield SetOffloads(home, name, features)
    if card.moderation_ns is not None:
        yield SetModeration(home, name, card.moderation_ns // 1000)
