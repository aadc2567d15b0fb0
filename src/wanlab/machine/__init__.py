"""Machines: a kernel, a clock, and a channel to an agent. Nothing else.

    embedded    boots our own kernel in user space; its clock is virtual (the calendar) or real
    here        the machine that this program runs in

A network cannot tell machines apart: it sees the protocol below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from .channel import AgentFailure, Channel, Listener

Clock = Literal["virtual", "real"]
MachineKind = Literal["embedded", "native", "here"]

DEFAULT_LINE_RATE_BPS = 40_000_000_000
# ping takes an uptime below 1 s for "never sent"; a network begins at a round time in any case.
READY_NS = 10_000_000_000


class Machine(Protocol):
    """What a network needs of a machine."""

    clock: Clock
    channel: Channel
    environment: dict[str, str]
    """What every process starts with."""

    @property
    def now_ns(self) -> int:
        """Time on the machine's clock since its boot."""
        ...

    def describe(self) -> dict[str, Any]:
        """What a record says of it: kernel, manifest, clock."""
        ...

    def call(self, do: str, **arguments: object) -> Any:
        """Asks the agent and waits for its answer. AgentFailure, MachineError."""
        ...

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        """Lets time pass until `stop` is true, which is asked whenever the agent has said
        something, or until the clock shows `until_ns`."""
        ...

    def prefix(self, node: str, folder: str) -> list[str]:
        """What goes in front of a command so that it runs in a node, started by us. CommandError where
        the kernel is not the one that we are on."""
        ...

    def pace_to_real(self, wanted: bool) -> None:
        """On virtual time: never faster than the real clock."""
        ...

    def end_stalled_process(self) -> None:
        """Kills the process that keeps virtual time from passing."""
        ...

    def close(self) -> None: ...


__all__ = [
    "DEFAULT_LINE_RATE_BPS",
    "READY_NS",
    "AgentFailure",
    "Channel",
    "Clock",
    "Listener",
    "Machine",
    "MachineKind",
]
