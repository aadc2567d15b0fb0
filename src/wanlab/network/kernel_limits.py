"""Limits of the kernel that no queue counts: raised at the start, and checked at the end.

A small machine has small limits. TCP's memory is an eighth of the machine's by default: one flow at
10 Gbit/s uses it up, and then every receiver's window silently shrinks to four packets. A host
whose neighbour table is full cannot send.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wanlab.operations import ROOT, Operation, SetSysctl

from .runtime import Runtime

PAGE_BYTES = 4096
MAX_NEIGHBOURS = 1 << 22
TCP_SHARES = (1 / 4, 1 / 2, 3 / 4)
"""Shares of the machine's memory for net.ipv4.tcp_mem: above the second TCP moderates its use of
memory, above the third it refuses allocations (ip-sysctl.rst)."""


def memory_limits(memory_bytes: int) -> list[Operation]:
    """Return operations that let TCP use most of the machine's memory."""
    pages = " ".join(str(int(memory_bytes * share) // PAGE_BYTES) for share in TCP_SHARES)
    return [SetSysctl(ROOT, "net.ipv4.tcp_mem", pages)]


def neighbour_limits() -> list[Operation]:
    """Return operations that let every node know every other one.

    The kernel has one neighbour table for all namespaces. Its usual 1024 entries are used up by 32
    hosts that have all talked to each other.
    """
    return [
        SetSysctl(ROOT, f"net.{family}.neigh.default.gc_thresh{threshold}", str(MAX_NEIGHBOURS))
        for family in ("ipv4", "ipv6")
        for threshold in (2, 3)
    ]


class SilentDrops:
    """Finds out whether a limit that no queue counts has affected a running network."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def warnings(self, namespaces: Sequence[str]) -> Iterator[str]:
        """Yield warnings about measurements in these namespaces."""
        netstats = self._runtime.read([["file", name, "/proc/net/netstat"] for name in namespaces])
        texts = {name: text.decode() for name, text in zip(namespaces, netstats, strict=True)}
        yield from limit_warnings(self._dropped(), texts)

    def _dropped(self) -> int:
        """Count the packets that were dropped where no queue counts them.

        In wanlab's kernel this happens only behind ports (softnet), never at the ports themselves.
        """
        (softnet,) = self._runtime.read([["file", ROOT, "/proc/net/softnet_stat"]])
        return dropped_packets(softnet.decode())


def dropped_packets(softnet: str) -> int:
    """Return the packets dropped behind ports since the kernel started, from
    /proc/net/softnet_stat."""
    return sum(int(line.split()[1], 16) for line in softnet.splitlines())


def limit_warnings(dropped: int, netstats: Mapping[str, str]) -> Iterator[str]:
    """Yield warnings about packets that no queue counted, and about nodes whose TCP ran short of
    memory.

    `dropped`: number of those packets. `netstats`: /proc/net/netstat of each node.
    """
    if dropped:
        yield f"{dropped} packets were dropped behind a port, where no queue counts them"
    for node, text in netstats.items():
        if protocol_counters(text).get("TcpExtTCPMemoryPressures", 0):
            yield (
                f"TCP in {node or 'root'} ran short of memory: give the network more "
                "(memory= in Python; --memory of wanlab mn, python and exec)"
            )


def protocol_counters(text: str) -> dict[str, int]:
    """Return the counters of /proc/net/snmp or /proc/net/netstat, as nstat(8) names them.

    They are pairs of lines: one of names, one of values.
    """
    counters: dict[str, int] = {}
    lines = text.splitlines()
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        prefix = names.partition(":")[0]
        values = zip(names.split()[1:], numbers.split()[1:], strict=True)
        counters |= {f"{prefix}{name}": int(number) for name, number in values}
    return counters
