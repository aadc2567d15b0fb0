"""Checks whether a machine can carry a topology, and warns of what is different in it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from wanlab.errors import Problem, RequirementError, TopologyError
from wanlab.machine import Clock
from wanlab.machine.guest_environment import ENVIRONMENT
from wanlab.plan.needs import required_programs
from wanlab.topology import loop_warnings
from wanlab.topology.cpu import Processor
from wanlab.topology.model import Host, Router, Switch, Topology, cpu_share, processor_of
from wanlab.topology.settings import QUEUES


def refuse_incompatible(topology: Topology, clock: Clock) -> None:
    """Raise one TopologyError that lists all parts of the topology that this machine cannot carry."""
    problems = [
        *_interface_problems(topology),
        *(_real_clock_problems(topology) if clock == "real" else ()),
    ]
    if problems:
        raise TopologyError(problems, topology.source.file)


def _interface_problems(topology: Topology) -> Iterator[Problem]:
    for node in topology.nodes:
        if isinstance(node, Host | Router | Switch) and node.external_interfaces:
            yield Problem(
                str(node),
                f"the computer's interface {node.external_interfaces[0]} cannot join a network on "
                "wanlab's own kernel",
                "leave it out, or connect your NICs with Mininet itself (wanlab docs limitations)",
            )


def _real_clock_problems(topology: Topology) -> Iterator[Problem]:
    for node in topology.nodes:
        if processor := processor_of(node, None):
            yield Problem(
                str(node),
                f"the processor {processor.model} needs virtual time",
                "leave it out on the real clock",
            )
    for host in topology.hosts:
        if host.scheduler == "rt":
            yield Problem(
                str(host),
                'the scheduler "rt" needs a kernel with real-time group scheduling',
                'use "cfs", which limits how much processor time a host may use',
            )


def compatibility_warnings(
    topology: Topology, clock: Clock, cpu: Processor | None
) -> Iterator[str]:
    """Yield warnings about measurements in a network."""
    limited = [
        node.name
        for node in topology.nodes
        if (cpu_share(node) or (isinstance(node, Host) and (node.cores or node.scheduler)))
        and processor_of(node, cpu) is None
    ]
    if limited and clock == "virtual":
        yield (
            f"{', '.join(limited)}: processor limits (cpu, cores, scheduler) have no effect on virtual "
            "time, where computing takes no time"
        )
    scheduled = [
        host.name
        for host in topology.hosts
        if (host.cores or host.scheduler) and processor_of(host, cpu)
    ]
    if scheduled:
        yield f"{', '.join(scheduled)}: cores and scheduler have no effect on a model of a processor"
    yield from loop_warnings(topology)


def refuse_new_queues(topology: Topology, release: str) -> None:
    """Raise RequirementError for a queue that is newer than the kernel of this release."""
    if (version := _version(release)) is None:
        return
    for link in topology.links:
        for port in link.ports:
            for _, conditions in port.conditions.states():
                kind = conditions.queue.kind if conditions.queue else ""
                since = QUEUES[kind].since if kind in QUEUES else None
                if since is not None and version < since:
                    raise RequirementError(
                        f"{link}: the queue {kind} needs Linux {since[0]}.{since[1]} or newer, "
                        f"and the kernel is {release}",
                        'use wanlab\'s own kernel in a newer version: --kernel 7.3 (kernel="7.3")',
                    )


def _version(release: str) -> tuple[int, int] | None:
    """Return (6, 12) for "6.12.117-wanlab"."""
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else None


def refuse_missing_programs(topology: Topology) -> None:
    """Raise RequirementError for the first program that is not installed.

    A machine uses the computer's programs, so the topology needs them on this computer.
    """
    for need in required_programs(topology):
        if shutil.which(need.program, path=ENVIRONMENT["PATH"]) is None:
            raise RequirementError(
                f"{need.needed_by} needs {need.program}, and this computer does not have it",
                f"install the package {need.package} (apt-get install {need.package})",
            )
