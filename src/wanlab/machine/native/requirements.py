"""Checks that the computer's kernel can carry a network, and reports all missing features at once.

    operations --> needs --(the kernel is probed)--> missing --> one error

An operation that only our own kernel can perform counts as missing, too: the line rate of a port is
set in its driver there (docs/decisions/0007).
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from wanlab.errors import RequirementError
from wanlab.operations import (
    AddBridge,
    AddLink,
    AddRoute,
    Operation,
    SetSpeed,
    SetSysctl,
    Shape,
)

from .. import Machine

if TYPE_CHECKING:
    from wanlab.agent.probe import ProbeResult

T = TypeVar("T")

HINT = (
    'use the embedded machine, whose kernel has all of it: --machine embedded (machine="embedded")'
)
PACKAGES = {"tc": "iproute2", "ip": "iproute2", "ethtool": "ethtool", "iperf3": "iperf3"}
BRIDGE_NETFILTER = ("net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables")
ABSENT = ("No such file or directory", "Operation not supported")
OPTIONS_BEFORE_KIND = {"dev": 2, "parent": 2, "handle": 2, "root": 1}
"""The number of words of each option that may come before the kind of a qdisc in a line of tc."""


@dataclass(frozen=True)
class KernelNeeds:
    """The kernel features that operations need. Sysctls are (key, value) of any node."""

    qdiscs: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    sysctls: tuple[tuple[str, str], ...] = ()
    programs: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    """Descriptions of the operations that only wanlab's kernel can perform."""


def needs_of(operations: Iterable[Operation]) -> KernelNeeds:
    """Collect the needs of operations, each once, in the order of the plan."""
    operations = tuple(operations)
    return KernelNeeds(
        qdiscs=_unique(kind for operation in operations for kind in _qdiscs_of(operation)),
        links=_unique(kind for operation in operations for kind in _links_of(operation)),
        sysctls=_unique(
            (operation.key, operation.value)
            for operation in operations
            if isinstance(operation, SetSysctl)
        ),
        programs=_unique(name for operation in operations for name in _programs_of(operation)),
        impossible=_unique(
            f"{operation.describe()}: the computer's virtual ports have no speed "
            "(a link's rate works: a queue enforces it)"
            for operation in operations
            if isinstance(operation, SetSpeed)
        ),
    )


def _unique(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def _qdiscs_of(operation: Operation) -> Iterator[str]:
    if isinstance(operation, Shape):
        for line in operation.lines:
            if line.startswith("qdisc add "):
                yield qdisc_kind(line)


def _links_of(operation: Operation) -> Iterator[str]:
    if isinstance(operation, AddBridge):
        yield "bridge"
    elif isinstance(operation, AddLink):
        yield "veth"


def _programs_of(operation: Operation) -> Iterator[str]:
    if isinstance(operation, AddRoute):
        yield "ip"
    elif isinstance(operation, Shape):
        yield "tc"


def qdisc_kind(line: str) -> str:
    """Return the kind of the queueing discipline that a line of tc adds."""
    words = line.split()[2:]
    index = 0
    while words[index] in OPTIONS_BEFORE_KIND:
        index += OPTIONS_BEFORE_KIND[words[index]]
    return words[index]


def kernel_option(kind: str) -> str:
    """Return the option of the kernel that a qdisc needs (Linux, net/sched/Kconfig)."""
    return f"CONFIG_NET_SCH_{'INGRESS' if kind == 'clsact' else kind.upper()}"


def missing(needs: KernelNeeds, probed: ProbeResult, programs: set[str]) -> list[str]:
    """Return one line for each missing feature. `programs` are the installed ones."""
    lines = [
        f"queueing discipline {kind}{_reason(why, f'kernel option {kernel_option(kind)}')}"
        for kind, why in probed["qdiscs"].items()
        if why
    ]
    lines += [
        f"network device {kind}{_reason(why, f'kernel option CONFIG_{kind.upper()}')}"
        for kind, why in probed["links"].items()
        if why
    ]
    lines += [
        setting + _about_sysctl(setting, why) for setting, why in probed["sysctls"].items() if why
    ]
    lines += [
        f"program {name} (install {PACKAGES.get(name, name)})"
        for name in needs.programs
        if name not in programs
    ]
    return [*lines, *needs.impossible]


def _reason(why: str, option: str) -> str:
    return f" ({option})" if why in ABSENT else f": {why}"


def _about_sysctl(setting: str, why: str) -> str:
    if ".tcp_congestion_control " not in setting:
        return f": {why}"
    if why in ABSENT:
        return ": the kernel has no such algorithm"
    return f": {why} (as root, list it in net.ipv4.tcp_allowed_congestion_control)"


def check_native(machine: Machine, operations: Iterable[Operation]) -> bool:
    """Check that the computer's kernel can perform operations. RequirementError lists missing features.

    Return whether bridges can pass their packets to netfilter.
    """
    needs = needs_of(operations)
    probed = machine.agent.probe(
        qdiscs=needs.qdiscs,
        links=needs.links,
        algorithms=[],
        sysctls=[*needs.sysctls, *((key, "1") for key in BRIDGE_NETFILTER)],
    )
    netfilter_errors = [probed["sysctls"].pop(f"{key} = 1") for key in BRIDGE_NETFILTER]
    path = machine.environment["PATH"]
    programs = {name for name in needs.programs if shutil.which(name, path=path)}
    lines = missing(needs, probed, programs)
    if lines:
        raise RequirementError(
            "\n  ".join(
                [
                    f"the computer's kernel ({platform.release()}) lacks what this network needs:",
                    *lines,
                    "",
                ]
            ),
            HINT,
        )
    return not any(netfilter_errors)
