"""How long the programs of nodes compute: on virtual time, their computing takes no time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from wanlab.topology import Switch
from wanlab.units import format_time

if TYPE_CHECKING:
    from .network import Network

WARNING_SHARE = 0.1
WARNING_REAL_S = 1.0
NS_PER_S = 1e9


def computing_real_s(network: Network) -> dict[str, float]:
    """Return for how many seconds of real time the programs of each host and router have computed up to
    now, between their system calls. No time passes.

    A busy computer adds to it, and so does what the computer needs for a page fault. Empty where the
    machine does not count it: in ptrace mode, in other kernels, and on the real clock.
    """
    names = [node.name for node in network.topology.nodes if not isinstance(node, Switch)]
    if not names or network.machine.clock == "real":
        return {}
    computed_ns = network.machine.programs_computed_ns()
    if not computed_ns:
        return {}
    inodes = network.read([["netns", name] for name in names])
    return {
        name: computed_ns.get(int(inode), 0) / NS_PER_S
        for name, inode in zip(names, inodes, strict=True)
    }


def computing_warnings(real_s: Mapping[str, float], now_ns: int) -> Iterator[str]:
    """Yield a warning for each node whose programs computed for more than a second of real time, and for
    more than a tenth of the time that has passed in the network.

    It depends on the computer, so no record has such a warning.
    """
    for name, computed_s in real_s.items():
        if computed_s > max(WARNING_REAL_S, WARNING_SHARE * now_ns / NS_PER_S):
            yield (
                f"programs of {name} computed for {computed_s:.1f} s of real time, while "
                f"{format_time(now_ns)} passed in the network: computing takes no virtual time"
            )
