"""Machines: a kernel, a clock, and an agent to talk to. Nothing else.

    embedded    boots our own kernel in user space; its clock is virtual (the calendar) or real
    here        the machine that this program runs in

A network does not ask which machine it has: it uses the protocol below, and `traits` says what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, Protocol, TypedDict

from wanlab.agent.messages import Frame

from .channel import AgentFailure, Channel, Listener
from .client import AgentClient
from .traits import MachineTraits

Clock = Literal["virtual", "real"]
MachineKind = Literal["embedded", "here"]

DEFAULT_LINE_RATE_BPS = 40_000_000_000
READY_NS = 10_000_000_000
"""The machine's time at which a network begins: round, and above 1 s because ping takes a smaller
uptime for "never sent"."""


class MachineDescription(TypedDict):
    """The description of a machine in a record, and in machine.json inside it."""

    machine: MachineKind
    clock: Clock
    kernel: str
    kernel_release: str
    kernel_manifest: str
    seed: int | None
    architecture: str
    wire: NotRequired[Literal["mtu", "gso"]]
    nic: NotRequired[dict[str, str]]
    cpu: NotRequired[dict[str, object]]
    line_rate_bps: NotRequired[int]
    missing_confinement: NotRequired[list[str]]
    """What this computer lacks to confine the machine: see embedded/confinement.py."""


@dataclass(frozen=True)
class Preemption:
    """A process computed without system calls until it was preempted.

    The instant depends on the computer, so the run is not repeatable from there on.
    """

    time_ns: int
    """On the machine's clock."""
    pid: int
    program: str


class Machine(Protocol):
    """The interface between a network and its machine."""

    clock: Clock
    traits: MachineTraits
    environment: dict[str, str]
    """The environment variables that every process starts with."""

    @property
    def channel(self) -> Channel: ...

    @property
    def agent(self) -> AgentClient: ...

    @property
    def preemptions(self) -> Sequence[Preemption]:
        """The first preemption of each process that computed without system calls, in order."""
        ...

    @property
    def now_ns(self) -> int:
        """Time on the machine's clock since its boot."""
        ...

    @property
    def next_event_ns(self) -> int:
        """The instant of the kernel's next event on virtual time; FOREVER_NS if it is unknown."""
        ...

    @property
    def computed_real_s(self) -> float:
        """How long the kernel has computed on virtual time, without waiting for the real clock."""
        ...

    def programs_computed_ns(self) -> Mapping[int, int]:
        """Return for how many ns of real time programs have computed up to now, between their system
        calls and faults, by the inode number of their network namespace.

        Empty if the machine does not count it: only the embedded machine does, in in-process mode.
        """
        ...

    def describe(self) -> MachineDescription: ...

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        """Let time pass until `stop()` is true or the clock shows `until_ns`.

        `stop` is called again whenever the agent has sent something. MachineError if the machine ends.
        """
        ...

    def observe(
        self,
        on_sent: Callable[[bytes], None] | None,
        on_frame: Callable[[Frame], None] | None,
    ) -> None:
        """From now on, call `on_sent` with the bytes sent to the agent, `on_frame` with its frames."""
        ...

    def prefix(self, node: str, folder: str) -> list[str]:
        """Return the words to put before a command so that it runs in a node.

        CommandError where the machine's kernel is not the one that this program runs on.
        """
        ...

    def pace_to_real(self, wanted: bool, speed: float = 1.0) -> None:
        """Keep virtual time from running ahead of the real clock, or stop doing so."""
        ...

    def end_stalled_process(self) -> None:
        """Kill the process that keeps virtual time from passing."""
        ...

    def kill(self) -> None:
        """End the kernel at once, from any thread. Calls underway raise MachineError."""
        ...

    def close(self) -> None: ...


__all__ = [
    "DEFAULT_LINE_RATE_BPS",
    "READY_NS",
    "AgentClient",
    "AgentFailure",
    "Channel",
    "Clock",
    "Listener",
    "Machine",
    "MachineDescription",
    "MachineKind",
    "MachineTraits",
    "Preemption",
]
