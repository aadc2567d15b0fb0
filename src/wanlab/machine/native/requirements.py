"""What a network needs of the computer's kernel, and what that lacks: told at once, before it starts.

    operations --> needs --(the kernel is asked)--> missing --> one error

An operation that only our own kernel can do is missing too: the speed of a port is a matter of its
driver there (docs/decisions/0007).
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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

HINT = (
    'use the embedded machine, whose kernel has all of it: --machine embedded (machine="embedded")'
)
PACKAGES = {"tc": "iproute2", "ip": "iproute2", "ethtool": "ethtool", "iperf3": "iperf3"}
BRIDGE_NETFILTER = ("net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables")


@dataclass(frozen=True)
class Needs:
    """What operations take. Sysctls: key and value, of any node."""

    qdiscs: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    sysctls: tuple[tuple[str, str], ...] = ()
    programs: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    """What no kernel but ours can do, in words."""


def needs_of(operations: Iterable[Operation]) -> Needs:
    """Each thing once, in the order of the plan."""
    found: dict[str, dict[Any, None]] = {
        name: {} for name in ("qdiscs", "links", "sysctls", "programs", "impossible")
    }
    for operation in operations:
        for name, thing in _needs(operation):
            found[name][thing] = None
    return Needs(**{name: tuple(things) for name, things in found.items()})


def _needs(operation: Operation) -> Iterable[tuple[str, Any]]:
    if isinstance(operation, AddBridge):
        yield "links", "bridge"
    elif isinstance(operation, AddLink):
        yield "links", "veth"
    elif isinstance(operation, AddRoute):
        yield "programs", "ip"
    elif isinstance(operation, SetSysctl):
        yield "sysctls", (operation.key, operation.value)
    elif isinstance(operation, SetSpeed):
        yield (
            "impossible",
            f"{operation.describe()}: the computer's virtual ports have none "
            "(the rate of a link is kept by a queue, and can be had)",
        )
    elif isinstance(operation, Shape):
        yield "programs", "tc"
        for line in operation.lines:
            if line.startswith("qdisc add "):
                yield "qdiscs", kind_of(line)


def kind_of(line: str) -> str:
    """Of a queueing discipline, from a line for tc."""
    words = line.split()[2:]
    position = 0
    while words[position] in WORDS_BEFORE_KIND:
        position += WORDS_BEFORE_KIND[words[position]]
    return words[position]


WORDS_BEFORE_KIND = {"dev": 2, "parent": 2, "handle": 2, "root": 1}


def missing(needs: Needs, found: Mapping[str, Mapping[str, str]], programs: set[str]) -> list[str]:
    """One line for each thing that is not there. `found`: what the kernel answered; `programs`: those
    that there are."""
    lines = [
        f"queueing discipline {kind}{_reason(why, f'kernel option CONFIG_NET_SCH_{kind.upper()}')}"
        for kind, why in found["qdiscs"].items()
        if why
    ]
    lines += [
        f"network device {kind}{_reason(why, f'kernel option CONFIG_{kind.upper()}')}"
        for kind, why in found["links"].items()
        if why
    ]
    for setting, why in found["sysctls"].items():
        if why:
            lines.append(setting + _about_sysctl(setting, why))
    lines += [
        f"program {name} (install {PACKAGES.get(name, name)})"
        for name in needs.programs
        if name not in programs
    ]
    return [*lines, *needs.impossible]


def _reason(why: str, option: str) -> str:
    return f" ({option})" if why in ABSENT else f": {why}"


ABSENT = ("No such file or directory", "Operation not supported")


def _about_sysctl(setting: str, why: str) -> str:
    if ".tcp_congestion_control " not in setting:
        return f": {why}"
    if why in ABSENT:
        return ": the kernel has no such algorithm"
    return f": {why} (as root, list it in net.ipv4.tcp_allowed_congestion_control)"


def check_native(machine: Machine, operations: Iterable[Operation]) -> bool:
    """RequirementError lists all that is missing. Otherwise: whether bridges can show their packets to
    netfilter."""
    needs = needs_of(operations)
    found = machine.call(
        "probe",
        qdiscs=list(needs.qdiscs),
        links=list(needs.links),
        algorithms=[],
        sysctls=[*needs.sysctls, *((key, "1") for key in BRIDGE_NETFILTER)],
    )
    remedies = [found["sysctls"].pop(f"{key} = 1") for key in BRIDGE_NETFILTER]
    path = machine.environment["PATH"]
    programs = {name for name in needs.programs if shutil.which(name, path=path)}
    lacking = missing(needs, found, programs)
    if lacking:
        raise RequirementError(
            "\n  ".join(
                [
                    f"the computer's kernel ({platform.release()}) lacks what this network needs:",
                    *lacking,
                    "",
                ]
            ),
            HINT,
        )
    return not any(remedies)
