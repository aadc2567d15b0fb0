"""Turns the `ip` commands of a node's setup into fields of a topology.

A command becomes an address, a route or an MTU, which is drawn and checked. Any other command stays a
start command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wanlab.errors import WanlabError
from wanlab.topology.model import Port

ADDRESS_WORDS = ("a", "addr", "address")
ROUTE_WORDS = ("r", "ro", "route")
ADD_WORDS = ("add", "replace")
MAX_DIGITS = 9
_QUOTES = re.compile(r"[\"'\\]")


@dataclass
class NodeSetup:
    """The setup of one node: its ports by their names, routes, and commands for the rest."""

    ports: dict[str, Port]
    default_route: str | None = None
    routes: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    needless: list[str] = field(default_factory=list)
    """Commands that have no effect in wanlab."""

    def read(self, command: str, *, is_router: bool) -> None:
        """Apply a command, or keep it as a start command."""
        words = _words(command)
        if words[:1] == ["sudo"]:
            words = words[1:]
        if words[:1] != ["ip"] or not self._read_ip(_without_family(words[1:]), is_router):
            self.commands.append(command)

    def _read_ip(self, words: Sequence[str], is_router: bool) -> bool:
        match words:
            case [kind, verb, address, "dev", name] if kind in ADDRESS_WORDS and verb in ADD_WORDS:
                return self._set_address(name, address)
            case ["link" | "l", "set", "dev", name, *rest] | ["link" | "l", "set", name, *rest]:
                return self._set_link(name, rest)
            case [kind, verb, *rest] if kind in ROUTE_WORDS and verb in ADD_WORDS:
                return self._add_route(rest, is_router)
            case [kind, "del" | "delete", "default", *_] if kind in ROUTE_WORDS:
                self.needless.append(f"ip {' '.join(words)}")
                return True
        return False

    def _set_address(self, name: str, address: str) -> bool:
        port = self.ports.get(name)
        if port is None or port.ip is not None or ":" in address or "/" not in address:
            return False
        self.ports[name] = replace(port, ip=address)
        return True

    def _set_link(self, name: str, words: Sequence[str]) -> bool:
        port = self.ports.get(name)
        if port is None:
            return False
        match [word for word in words if word != "up"]:
            case []:
                pass
            case ["mtu", number] if number.isdecimal() and len(number) <= MAX_DIGITS:
                self.ports[name] = replace(port, mtu=int(number))
            case ["address", mac]:
                self.ports[name] = replace(port, mac=mac)
            case _:
                return False
        return True

    def _add_route(self, words: Sequence[str], is_router: bool) -> bool:
        match words:
            case ["default" | "0.0.0.0/0", "via", gateway] if ":" not in gateway:
                route = f"via {gateway}"
            case ["default" | "0.0.0.0/0", "via", gateway, "dev", name] if ":" not in gateway:
                route = f"via {gateway} dev {name}"
            case [target, "via", gateway, *_] if is_router and ":" not in target + gateway:
                self.routes.append(" ".join(words))
                return True
            case _:
                return False
        if is_router:
            self.routes.append(f"default {route}")
        else:
            self.default_route = route.removeprefix("via ") if " dev " not in route else route
        return True


def _words(command: str) -> list[str]:
    """Return the words of a command; none if a quote does not end."""
    if not _QUOTES.search(command):  # a tenth of the time
        return command.split()
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _without_family(words: Sequence[str]) -> list[str]:
    return list(words[1:] if words[:1] == ["-4"] else words)


def prefix_length(mask: str) -> int:
    """Return 24 for "255.255.255.0" or "24". WanlabError if it is neither."""
    if mask.isdecimal() and len(mask) <= MAX_DIGITS and int(mask) <= 32:
        return int(mask)
    try:
        parts = [int(part) for part in mask.split(".")]
    except ValueError:
        parts = []
    bits = "".join(f"{part:08b}" for part in parts if 0 <= part <= 255)
    if len(parts) != 4 or len(bits) != 32 or "01" in bits:
        raise WanlabError(f'"{mask}" is not a netmask')
    return bits.count("1")
