"""Whether a machine is fit for a topology: what it cannot do, what it lacks, what it does otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from wanlab.errors import Problem, RequirementError, TopologyError
from wanlab.machine import Clock, MachineKind
from wanlab.machine.guest_environment import ENVIRONMENT
from wanlab.plan.needs import required_programs
from wanlab.topology.model import Host, Router, Switch, Topology


def refuse_unfit(topology: Topology, machine: MachineKind, clock: Clock) -> None:
    """TopologyError for what this machine cannot do."""
    problems = [
        *(_no_interfaces(topology) if machine != "native" else ()),
        *(_no_share(topology) if clock == "real" else ()),
    ]
    if problems:
        raise TopologyError(problems, topology.source.file)


def _no_interfaces(topology: Topology) -> Iterator[Problem]:
    for node in topology.nodes:
        if isinstance(node, Host | Router | Switch) and node.external_interfaces:
            yield Problem(
                str(node),
                f"the computer's {node.external_interfaces[0]} cannot be in a network that has a "
                "kernel of its own",
                'leave it out, or use the computer\'s kernel: machine="native", as root',
            )


def _no_share(topology: Topology) -> Iterator[Problem]:
    for host in topology.hosts:
        if host.scheduler == "rt":
            yield Problem(
                str(host),
                'the scheduler "rt" needs a kernel that shares real time among groups',
                'use "cfs", which limits what a host may use of the processors',
            )


def cautions(topology: Topology, clock: Clock) -> Iterator[str]:
    """What to know of a network before trusting its measurements."""
    shared = [host.name for host in topology.hosts if host.cpu or host.cores or host.scheduler]
    if shared and clock == "virtual":
        yield (
            f"{', '.join(shared)}: a share of the processors (cpu, cores, scheduler) means nothing on "
            "virtual time, where computing takes no time"
        )


def look_for_programs(topology: Topology) -> None:
    """RequirementError for the first that this computer lacks; machines have the computer's programs."""
    for need in required_programs(topology):
        if shutil.which(need.program, path=ENVIRONMENT["PATH"]) is None:
            raise RequirementError(
                f"{need.needed_by} needs {need.program}, and this computer does not have it",
                f"install the package {need.package} (apt-get install {need.package})",
            )
