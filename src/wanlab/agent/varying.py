"""Operations of links that vary: they deliver by a trace, or follow a schedule. As `operations`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .operations import Operation, in_node


@dataclass(frozen=True)
class LoadOpportunities(Operation):
    """When the qdisc `handle` of a port can deliver (our patch of the kernel). Nothing is held back
    until they start."""

    node: str
    interface: str
    handle: int
    at_ms: tuple[int, ...]
    once: bool

    name = "load_opportunities"

    def describe(self) -> str:
        return f"delivery opportunities of {self.interface}: {len(self.at_ms)}"

    def commands(self) -> list[str]:
        once = " once" if self.once else ""
        command = in_node(self.node, f"wanlab-opportunities {self.interface} {self.handle}:{once}")
        numbers = "".join(f"{ms}\n" for ms in self.at_ms)
        return [f"{command} <<'END'\n{numbers}END"]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {
            "node": self.node,
            "name": self.interface,
            "handle": self.handle,
            "at_ms": list(self.at_ms),
            "once": self.once,
        }


@dataclass(frozen=True)
class StartOpportunities(Operation):
    """All that were loaded since the last start count from this instant."""

    start_ns: int

    name = "start_opportunities"

    def describe(self) -> str:
        return f"delivery opportunities count from {self.start_ns} ns"

    def commands(self) -> list[str]:
        return ["# wanlab-opportunities has started what it has loaded"]


@dataclass(frozen=True)
class ChangeConditions(Operation):
    """Of qdiscs that are there, without a loss of what waits in them. `lines`: for tc, without the word
    tc; `shaper` and `delay_line`: the same as numbers."""

    node: str
    interface: str
    lines: tuple[str, ...]
    shaper: Mapping[str, int] | None = None
    delay_line: Mapping[str, int] | None = None

    name = "change_conditions"

    def describe(self) -> str:
        return f"conditions of {self.interface}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"tc {line}") for line in self.lines]

    def request(self) -> tuple[str, dict[str, Any]]:
        return self.name, {
            "node": self.node,
            "name": self.interface,
            "shaper": dict(self.shaper) if self.shaper else None,
            "delay_line": dict(self.delay_line) if self.delay_line else None,
        }
