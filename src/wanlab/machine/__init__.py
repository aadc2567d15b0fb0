"""Machines: a kernel, a clock, and a channel to an agent. Nothing else.

    embedded    boots our own kernel in user space; its clock is virtual (the calendar) or real

A network cannot tell machines apart: it sees the protocol below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from .channel import AgentFailure, Channel, Listener

Clock = Literal["virtual", "real"]


class Machine(Protocol):
    """What a network needs of a machine."""

    clock: Clock
    channel: Channel

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

    def close(self) -> None: ...


__all__ = ["AgentFailure", "Channel", "Clock", "Listener", "Machine"]
