"""Links that vary while the network lives: traces are started, and schedules followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from wanlab.errors import Problem, TopologyError
from wanlab.operations import (
    Operation,
    StartOpportunities,
)
from wanlab.plan.change import schedule_changes
from wanlab.topology.model import Port

if TYPE_CHECKING:
    from .network import Network


def start_varying(network: Network, ports: Iterable[Port], epoch_ns: int) -> None:
    """Traces and schedules of these ports count from the network's beginning, which is this instant of
    the machine's clock."""
    ports = list(ports)
    if any(port.conditions.trace is not None for port in ports):
        network.perform([StartOpportunities(epoch_ns)])
    for port in ports:
        if port.conditions.schedule is not None:
            _follow(network, schedule_changes(network.namespace_of(port), port), str(port.name))


def refuse_scheduled(before: Port, after: Port) -> None:
    """TopologyError if somebody else changes what a schedule changes."""
    if before.conditions.schedule or after.conditions.schedule:
        what = "its conditions follow a schedule, and cannot be changed by hand"
        hint = "write the change into the schedule, or leave the schedule out"
        raise TopologyError([Problem(f"port {before.name}", what, hint)])


def _follow(network: Network, course: Iterator[tuple[int, Operation]], name: str) -> None:
    """Books the next change, and after that the one that follows, as long as the port is there."""
    coming = next(course, None)
    if coming is None:
        return
    due_ns, operation = coming

    def act() -> None:
        ports = (port for link in network.topology.links for port in link.ports)
        if any(port.name == name for port in ports):
            network.perform([operation])
            _follow(network, course, name)

    network.after(max(0, due_ns - network.now_ns), act)
