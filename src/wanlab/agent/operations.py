"""What a plan consists of: one object is the dry run, the log line, the error message and the work.

    describe()   one line for people
    commands()   what a person would type for it, as root of the machine
    request()    name and arguments for the agent, which has a faster way to the same result: the
                 function of that name in `perform`

This module is for those who make plans; the agent itself does not load it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

ROOT = ""


def in_node(node: str, command: str) -> str:
    """The command as typed in the root namespace."""
    return command if node == ROOT else f"ip netns exec {node} {command}"


def _place(node: str) -> str:
    return node or "root"


@dataclass(frozen=True)
class Operation:
    """One step. Arguments are its fields."""

    name: ClassVar[str]

    def describe(self) -> str:
        raise NotImplementedError

    def commands(self) -> list[str]:
        raise NotImplementedError

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, asdict(self)


@dataclass(frozen=True)
class AddNamespace(Operation):
    name_of_node: str

    name = "add_namespace"

    def describe(self) -> str:
        return f"node {self.name_of_node}"

    def commands(self) -> list[str]:
        node = self.name_of_node
        return [f"ip netns add {node}", f"ip -n {node} link set lo up"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"name": self.name_of_node}


@dataclass(frozen=True)
class RemoveNamespace(Operation):
    """Takes a node away, with its ports and its processes."""

    name_of_node: str

    name = "remove_namespace"

    def describe(self) -> str:
        return f"no more node {self.name_of_node}"

    def commands(self) -> list[str]:
        node = self.name_of_node
        return [f"ip netns pids {node} | xargs -r kill -9", f"ip netns del {node}"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"name": self.name_of_node}


@dataclass(frozen=True)
class RemoveLink(Operation):
    """Takes an interface away (one end of a link: both ends; a bridge: the switch)."""

    node: str
    interface: str

    name = "remove_link"

    def describe(self) -> str:
        return f"no more {self.interface} in {_place(self.node)}"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        return [f"ip {where}link del {self.interface}"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"node": self.node, "name": self.interface}


@dataclass(frozen=True)
class AddBridge(Operation):
    bridge: str
    stp: bool = False
    priority: int | None = None
    vlan_filtering: bool = False

    name = "add_bridge"

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

    def request(self) -> tuple[str, dict[str, Any]]:
        arguments = {"name": self.bridge, "stp": self.stp, "priority": self.priority}
        return self.name, {**arguments, "vlan_filtering": self.vlan_filtering}


@dataclass(frozen=True)
class End:
    """One end of a link as it is made: an interface in a node, or in a bridge of the root namespace."""

    node: str
    name: str
    mac: str | None = None
    mtu: int | None = None
    bridge: str | None = None

    def words(self) -> str:
        words = f"name {self.name}"
        if self.node != ROOT:
            words += f" netns {self.node}"
        if self.mac:
            words += f" address {self.mac}"
        if self.mtu:
            words += f" mtu {self.mtu}"
        return words


@dataclass(frozen=True)
class AddLink(Operation):
    """A veth pair, born with each end already in its node."""

    a: End
    b: End

    name = "add_link"

    def describe(self) -> str:
        return f"link {self.a.name} to {self.b.name}"

    def commands(self) -> list[str]:
        lines = [f"ip link add {self.a.words()} type veth peer {self.b.words()}"]
        for end in (self.a, self.b):
            where = f"-n {end.node} " if end.node else ""
            master = f"master {end.bridge} " if end.bridge else ""
            lines.append(f"ip {where}link set {end.name} {master}up")
        return lines


@dataclass(frozen=True)
class JoinBridge(Operation):
    """Plugs a port into its switch."""

    interface: str
    bridge: str

    name = "join_bridge"

    def describe(self) -> str:
        return f"port {self.interface} in switch {self.bridge}"

    def commands(self) -> list[str]:
        return [f"ip link set {self.interface} master {self.bridge}"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"interface": self.interface, "bridge": self.bridge}


@dataclass(frozen=True)
class SetVlans(Operation):
    """Which VLANs pass a port of a bridge, as lines for bridge without the word bridge. Consecutive
    ones are done together."""

    interface: str
    lines: tuple[str, ...]

    name = "set_vlans"

    def describe(self) -> str:
        return f"VLANs of {self.interface}"

    def commands(self) -> list[str]:
        return [f"bridge {line}" for line in self.lines]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"lines": list(self.lines)}


@dataclass(frozen=True)
class BringUp(Operation):
    node: str
    interface: str

    name = "bring_up"

    def describe(self) -> str:
        return f"{self.interface} up"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        return [f"ip {where}link set {self.interface} up"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"node": self.node, "name": self.interface}


@dataclass(frozen=True)
class SetLinkState(Operation):
    node: str
    interface: str
    up: bool

    name = "set_link_state"

    def describe(self) -> str:
        return f"port {self.interface} {'up' if self.up else 'down'}"

    def commands(self) -> list[str]:
        kept = f"/tmp/routes-{self.interface}"
        steps = (
            f"ip link set {self.interface} up; ip route restore < {kept}"
            if self.up
            else f"ip route save dev {self.interface} > {kept}; ip link set {self.interface} down"
        )
        return [in_node(self.node, f"sh -c {shlex.quote(steps)}")]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"node": self.node, "name": self.interface, "up": self.up}


@dataclass(frozen=True)
class AddAddress(Operation):
    node: str
    interface: str
    address: str

    name = "add_address"

    def describe(self) -> str:
        return f"address {self.address} of {self.interface}"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        broadcast = "" if ":" in self.address else " brd +"
        return [f"ip {where}addr add {self.address}{broadcast} dev {self.interface}"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"node": self.node, "name": self.interface, "address": self.address}


@dataclass(frozen=True)
class AddRoute(Operation):
    node: str
    words: str

    name = "add_route"

    def describe(self) -> str:
        return f"route {self.words} of {_place(self.node)}"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        return [f"ip {where}route add {self.words}"]


@dataclass(frozen=True)
class SetSysctl(Operation):
    node: str
    key: str
    value: str

    name = "set_sysctl"

    def describe(self) -> str:
        return f"{self.key} = {self.value} in {_place(self.node)}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"sysctl -qw {shlex.quote(f'{self.key}={self.value}')}")]


@dataclass(frozen=True)
class SetSpeed(Operation):
    """The line rate of the wire out of a port; 0 is no limit."""

    node: str
    interface: str
    speed_mbps: int

    name = "set_speed"

    def describe(self) -> str:
        return f"speed of {self.interface}: {self.speed_mbps or 'no limit'} Mbit/s"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"ethtool -s {self.interface} speed {self.speed_mbps}")]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {
            "node": self.node,
            "name": self.interface,
            "speed_mbps": self.speed_mbps,
        }


@dataclass(frozen=True)
class SetOffloads(Operation):
    """What a port's card does for the stack (ethtool -K)."""

    node: str
    interface: str
    features: Mapping[str, bool] = field(hash=False)

    name = "set_offloads"

    def describe(self) -> str:
        return f"offloads of {self.interface}: {self._words()}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"ethtool -K {self.interface} {self._words()}")]

    def _words(self) -> str:
        return " ".join(f"{name} {'on' if on else 'off'}" for name, on in self.features.items())

    def request(self) -> tuple[str, dict[str, Any]]:
        features = dict(self.features)
        return self.name, {"node": self.node, "name": self.interface, "features": features}


@dataclass(frozen=True)
class LimitJoining(Operation):
    """How large a packet may become when a port that receives joins several to one (GRO)."""

    node: str
    interface: str
    most_bytes: int

    name = "limit_joining"

    def describe(self) -> str:
        return f"joined packets of {self.interface}: at most {self.most_bytes} bytes"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        return [f"ip {where}link set {self.interface} gro_max_size {self.most_bytes}"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {
            "node": self.node,
            "name": self.interface,
            "most_bytes": self.most_bytes,
        }


@dataclass(frozen=True)
class SetWire(Operation):
    """What a port sends leaves as packets of at most one MTU (our patch of veth)."""

    node: str
    interface: str

    name = "set_wire"

    def describe(self) -> str:
        return f"wire of {self.interface}: packets of one MTU"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"ethtool --set-priv-flags {self.interface} mtu-wire on")]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"node": self.node, "name": self.interface}


@dataclass(frozen=True)
class SetModeration(Operation):
    """The least time between two interrupts of a port under load; what comes meanwhile is handed up
    together."""

    node: str
    interface: str
    least_us: int

    name = "set_moderation"

    def describe(self) -> str:
        return f"interrupt moderation of {self.interface}: {self.least_us} us"

    def commands(self) -> list[str]:
        words = f"adaptive-rx on rx-usecs {self.least_us}"
        return [in_node(self.node, f"ethtool -C {self.interface} {words}")]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {
            "node": self.node,
            "name": self.interface,
            "least_us": self.least_us,
        }


@dataclass(frozen=True)
class Shape(Operation):
    """Queueing disciplines of one port, as lines for tc without the word tc."""

    node: str
    interface: str
    lines: tuple[str, ...]

    name = "shape"

    def describe(self) -> str:
        return f"queueing of {self.interface}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"tc {line}") for line in self.lines]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {"node": self.node, "commands": list(self.lines)}


@dataclass(frozen=True)
class WriteFile(Operation):
    path: str
    content: str

    name = "write_file"

    def describe(self) -> str:
        return f"file {self.path}"

    def commands(self) -> list[str]:
        return [f"cat > {self.path} <<'END'\n{self.content}END"]


@dataclass(frozen=True)
class RunCommand(Operation):
    """A command of the user's that belongs to a node's start."""

    node: str
    command: str

    name = "run_command"

    def describe(self) -> str:
        return f"start command of {_place(self.node)}: {self.command}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"sh -c {shlex.quote(self.command)}")]
