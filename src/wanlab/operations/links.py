"""Operations on links: veth pairs, bridges, and the addresses and state of their ends."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass

from .operation import ROOT, Operation, Request, in_node, namespace_name, netns_option


@dataclass(frozen=True)
class LinkEnd:
    """One end of a new link: an interface in a node, or in a bridge of the root namespace."""

    node: str
    interface: str
    mac: str | None = None
    mtu: int | None = None
    bridge: str | None = None
    queues: int | None = None

    def ip_arguments(self) -> str:
        """Return the arguments of `ip link add` for this end."""
        arguments = f"name {self.interface}"
        if self.node != ROOT:
            arguments += f" netns {self.node}"
        if self.mac:
            arguments += f" address {self.mac}"
        if self.mtu:
            arguments += f" mtu {self.mtu}"
        if self.queues:
            arguments += f" numtxqueues {self.queues} numrxqueues {self.queues}"
        return arguments


@dataclass(frozen=True)
class AddLink(Operation):
    """Make a veth pair with each end in its node from the start."""

    a: LinkEnd
    b: LinkEnd

    verb = "add_link"

    def describe(self) -> str:
        return f"link {self.a.interface} to {self.b.interface}"

    def commands(self) -> list[str]:
        lines = [f"ip link add {self.a.ip_arguments()} type veth peer {self.b.ip_arguments()}"]
        for end in (self.a, self.b):
            master = f"master {end.bridge} " if end.bridge else ""
            lines.append(f"ip {netns_option(end.node)}link set {end.interface} {master}up")
        return lines

    def request(self) -> Request:
        return self.verb, asdict(self)


@dataclass(frozen=True)
class RemoveLink(Operation):
    """Remove an interface: an end of a veth pair, with its other end, or a bridge (a whole switch)."""

    node: str
    interface: str

    verb = "remove_link"

    def describe(self) -> str:
        return f"remove {self.interface} in {namespace_name(self.node)}"

    def commands(self) -> list[str]:
        return [f"ip {netns_option(self.node)}link del {self.interface}"]


@dataclass(frozen=True)
class AddBridge(Operation):
    """Make a Linux bridge in the root namespace. Without STP its ports forward at once."""

    bridge: str
    stp: bool = False
    priority: int | None = None
    vlan_filtering: bool = False

    verb = "add_bridge"

    def describe(self) -> str:
        return f"switch {self.bridge}"

    def commands(self) -> list[str]:
        options = f"stp_state {int(self.stp)}" + ("" if self.stp else " forward_delay 0")
        if self.priority is not None:
            options += f" priority {self.priority}"
        if self.vlan_filtering:
            options += " vlan_filtering 1"
        return [
            f"ip link add {self.bridge} type bridge {options}",
            f"ip link set {self.bridge} up",
        ]


@dataclass(frozen=True)
class JoinBridge(Operation):
    """Plug a port into its bridge."""

    interface: str
    bridge: str

    verb = "join_bridge"

    def describe(self) -> str:
        return f"port {self.interface} in switch {self.bridge}"

    def commands(self) -> list[str]:
        return [f"ip link set {self.interface} master {self.bridge}"]


@dataclass(frozen=True)
class SetVlans(Operation):
    """Set the VLANs of a bridge port.

    `lines` are commands of bridge(8) without the word `bridge`. The agent runs the program once for
    consecutive operations of this kind, so it gets only the lines.
    """

    interface: str
    lines: tuple[str, ...]

    verb = "set_vlans"

    def describe(self) -> str:
        return f"VLANs of {self.interface}"

    def commands(self) -> list[str]:
        return [f"bridge {line}" for line in self.lines]

    def request(self) -> Request:
        return self.verb, {"lines": list(self.lines)}


@dataclass(frozen=True)
class BringUp(Operation):
    """Set an interface up."""

    node: str
    interface: str

    verb = "bring_up"

    def describe(self) -> str:
        return f"{self.interface} up"

    def commands(self) -> list[str]:
        return [f"ip {netns_option(self.node)}link set {self.interface} up"]


@dataclass(frozen=True)
class SetLinkState(Operation):
    """Set a port up or down and keep its addresses and routes, as when a cable is unplugged."""

    node: str
    interface: str
    up: bool

    verb = "set_link_state"

    def describe(self) -> str:
        return f"port {self.interface} {'up' if self.up else 'down'}"

    def commands(self) -> list[str]:
        saved_routes = f"/tmp/routes-{self.interface}"
        steps = (
            f"ip link set {self.interface} up; ip route restore < {saved_routes}"
            if self.up
            else f"ip route save dev {self.interface} > {saved_routes}; "
            f"ip link set {self.interface} down"
        )
        return [in_node(self.node, f"sh -c {shlex.quote(steps)}")]


@dataclass(frozen=True)
class AddAddress(Operation):
    """Add an address with its prefix length, such as 10.0.0.1/8 or fd00::1/64."""

    node: str
    interface: str
    address: str

    verb = "add_address"

    def describe(self) -> str:
        return f"address {self.address} of {self.interface}"

    def commands(self) -> list[str]:
        options = " nodad" if ":" in self.address else " brd +"
        option = netns_option(self.node)
        return [f"ip {option}addr add {self.address}{options} dev {self.interface}"]
