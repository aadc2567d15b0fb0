"""How long the programs of nodes compute: on virtual time, their computing takes no time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from wanlab.errors import RequirementError
from wanlab.topology.model import is_in_root
from wanlab.units import format_time

from .host_service import Connection, call_host

if TYPE_CHECKING:
    from .network import Network

WARNING_SHARE = 0.1
WARNING_REAL_S = 1.0
NS_PER_S = 1e9
COMPUTING = "computing"
"""The request of a program inside whose network ends."""
MAX_NODES = 65_536
"""Of the networks inside: a program inside is not trusted."""


def computing_real_s(network: Network) -> dict[str, float]:
    """Return for how many seconds of real time the programs of each host and router have computed up to
    now, between their system calls. No time passes.

    A busy computer adds to it, and so does what the computer needs for a page fault. Empty where the
    machine does not count it: in ptrace mode, in other kernels, and on the real clock.
    """
    if network.machine.clock == "real" or not _names(network):
        return {}
    computed_ns = network.machine.programs_computed_ns()
    return _by_node(_namespaces(network), computed_ns) if computed_ns else {}


def tell_namespaces(network: Network) -> None:
    """Inside a machine: tell the user's side which namespaces the nodes of a network have, as long as
    there are any. No time passes."""
    if namespaces := _namespaces(network):
        with suppress(RequirementError):  # the user's side does not count
            call_host({"do": COMPUTING, "namespaces": namespaces})


def collect_computing(network: Network) -> Mapping[str, float]:
    """Return what `computing_real_s` is for networks that programs in this one's machine make, such as
    Mininet's. It is known when such a network ends."""
    collected: dict[str, float] = {}

    def add(connection: Connection) -> None:
        namespaces = cast("dict[str, int]", connection.request["namespaces"])
        if len(collected) + len(namespaces) <= MAX_NODES:
            seen = _by_node(namespaces, network.machine.programs_computed_ns())
            collected.update({name: collected.get(name, 0) + s for name, s in seen.items()})
        connection.answer({})

    network.host_service[COMPUTING] = add
    return collected


def _names(network: Network) -> list[str]:
    return [node.name for node in network.topology.nodes if not is_in_root(node)]


def _namespaces(network: Network) -> dict[str, int]:
    """Return the inode of the network namespace of each host and router."""
    names = _names(network)
    inodes = network.read([["netns", name] for name in names]) if names else []
    return {name: int(inode) for name, inode in zip(names, inodes, strict=True)}


def _by_node(namespaces: Mapping[str, int], computed_ns: Mapping[int, int]) -> dict[str, float]:
    return {name: computed_ns.get(inode, 0) / NS_PER_S for name, inode in namespaces.items()}


def computing_warnings(real_s: Mapping[str, float], now_ns: int) -> Iterator[str]:
    """Yield a warning for each node whose programs computed for more than a second of real time, and for
    more than a tenth of the time that has passed in the network.

    It depends on the computer, so no record has such a warning.
    """
    for name, computed_s in real_s.items():
        if computed_s > max(WARNING_REAL_S, WARNING_SHARE * now_ns / NS_PER_S):
            yield (
                f"programs of {name} computed for {computed_s:.1f} s of real time, while "
                f"{format_time(round(now_ns, -6))} passed in the network: computing takes no virtual "
                "time"
            )
