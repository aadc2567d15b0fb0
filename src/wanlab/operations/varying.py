"""Operations on links that vary: they deliver by a trace, or follow a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .operation import Operation, Request, here_document, in_node


@dataclass(frozen=True)
class LoadOpportunities(Operation):
    """Load the delivery opportunities of a port's qdisc `handle`, of the kind `opportunity`.

    `at_ms` are the times in ms from the start of the trace; `once` says that it does not repeat. The
    qdisc delivers without limit until `StartOpportunities`.
    """

    node: str
    interface: str
    handle: int
    at_ms: tuple[int, ...]
    once: bool

    verb = "load_opportunities"

    def describe(self) -> str:
        return f"delivery opportunities of {self.interface}: {len(self.at_ms)}"

    def commands(self) -> list[str]:
        once = " once" if self.once else ""
        command = in_node(self.node, f"wanlab-opportunities {self.interface} {self.handle}:{once}")
        numbers = "".join(f"{ms}\n" for ms in self.at_ms)
        return [here_document(command, numbers)]


@dataclass(frozen=True)
class StartOpportunities(Operation):
    """Start all traces loaded since the last start, at this time of the machine's clock."""

    start_ns: int

    verb = "start_opportunities"

    def describe(self) -> str:
        return f"start of the delivery opportunities at {self.start_ns} ns"

    def commands(self) -> list[str]:
        return ["# wanlab-opportunities has started the traces that it loaded"]


@dataclass(frozen=True)
class ChangeConditions(Operation):
    """Change the parameters of a port's qdiscs; the packets in them stay.

    `lines` are commands of tc(8) without `tc`. `shaper` and `delay_line` are the same parameters as
    numbers for netlink: keyword arguments of `change_shaper` and `change_delay_line` in
    `wanlab.agent.shaping`.
    """

    node: str
    interface: str
    lines: tuple[str, ...]
    shaper: Mapping[str, int] | None = None
    delay_line: Mapping[str, int] | None = None

    verb = "change_conditions"

    def describe(self) -> str:
        return f"conditions of {self.interface}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"tc {line}") for line in self.lines]

    def request(self) -> Request:
        return self.verb, {
            "node": self.node,
            "interface": self.interface,
            "shaper": self.shaper,
            "delay_line": self.delay_line,
        }
