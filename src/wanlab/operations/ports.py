"""Operations on one port: its wire, its NIC, and its queueing disciplines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .operation import Operation, Request, in_node


@dataclass(frozen=True)
class SetSpeed(Operation):
    """Set the line rate of a port (our patch of veth); 0 means no limit."""

    node: str
    interface: str
    speed_mbps: int

    verb = "set_speed"

    def describe(self) -> str:
        return f"speed of {self.interface}: {self.speed_mbps or 'no limit'} Mbit/s"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"ethtool -s {self.interface} speed {self.speed_mbps}")]


@dataclass(frozen=True)
class SetWire(Operation):
    """Make a port send packets of at most one MTU (our patch of veth)."""

    node: str
    interface: str

    verb = "set_wire"

    def describe(self) -> str:
        return f"wire of {self.interface}: packets of one MTU"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"ethtool --set-priv-flags {self.interface} mtu-wire on")]


@dataclass(frozen=True)
class SetOffloads(Operation):
    """Switch the offloads of a port's NIC (ethtool -K): "tso", "gso", "gro"."""

    node: str
    interface: str
    features: Mapping[str, bool] = field(hash=False)

    verb = "set_offloads"

    def describe(self) -> str:
        return f"offloads of {self.interface}: {self._ethtool_arguments()}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"ethtool -K {self.interface} {self._ethtool_arguments()}")]

    def _ethtool_arguments(self) -> str:
        return " ".join(f"{name} {'on' if on else 'off'}" for name, on in self.features.items())


@dataclass(frozen=True)
class SetCoalesce(Operation):
    """Set how long a port under load collects packets before it interrupts (ethtool -C)."""

    node: str
    interface: str
    interval_us: int

    verb = "set_coalesce"

    def describe(self) -> str:
        return f"interrupt coalescing of {self.interface}: {self.interval_us} us"

    def commands(self) -> list[str]:
        settings = f"adaptive-rx on rx-usecs {self.interval_us}"
        return [in_node(self.node, f"ethtool -C {self.interface} {settings}")]


@dataclass(frozen=True)
class Shape(Operation):
    """Set up the queueing disciplines of a port; `lines` are commands of tc(8) without `tc`."""

    node: str
    interface: str
    lines: tuple[str, ...]

    verb = "shape"

    def describe(self) -> str:
        return f"queueing of {self.interface}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"tc {line}") for line in self.lines]

    def request(self) -> Request:
        return self.verb, {"node": self.node, "lines": list(self.lines)}
