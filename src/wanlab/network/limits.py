"""Limits of the kernel that no queue counts: put out of the way, and looked for at the end.

A small machine has small limits: TCP's memory, by default an eighth of it, is used up by one flow at
10 Gbit/s, and then every receiver's window shrinks to four packets with no word about it. Who finds no
room in the table of neighbours does not get a packet out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wanlab.operations import (
    ROOT,
    Operation,
    SetSysctl,
)

PAGE_BYTES = 4096
MOST_NEIGHBOURS = 1 << 22
TCP_SHARES = (1 / 4, 1 / 2, 3 / 4)
"""Of the machine's memory: below it TCP does not save, from there on it does, beyond it it refuses."""


def memory_limits(memory_bytes: int) -> list[Operation]:
    """Operations that let TCP have most of the machine's memory."""
    pages = " ".join(str(int(memory_bytes * share) // PAGE_BYTES) for share in TCP_SHARES)
    return [SetSysctl(ROOT, "net.ipv4.tcp_mem", pages)]


def neighbour_limits() -> list[Operation]:
    """Operations that let all nodes know all others: the kernel's table of neighbours is one for all
    namespaces, and the usual 1024 entries are 32 hosts that have spoken to each other."""
    return [
        SetSysctl(ROOT, f"net.{family}.neigh.default.gc_thresh{threshold}", str(MOST_NEIGHBOURS))
        for family in ("ipv4", "ipv6")
        for threshold in (2, 3)
    ]


def dropped_packets(softnet: str) -> int:
    """Of /proc/net/softnet_stat: what found no room behind a port, since the kernel started."""
    return sum(int(line.split()[1], 16) for line in softnet.splitlines())


def dropped_at_ports(devices: str) -> int:
    """Of /proc/net/dev of a node: what found no room at the other end of its ports' links. What queues
    drop is not among it."""
    dropped = 0
    for line in devices.splitlines()[2:]:  # two lines of headings
        counters = [int(word) for word in line.partition(":")[2].split()]
        dropped += counters[RECEIVED_DROPPED] + counters[SENT_DROPPED]
    return dropped


RECEIVED_DROPPED, SENT_DROPPED = 3, 11


def warnings_of(dropped: int, netstats: Mapping[str, str]) -> Iterator[str]:
    """What to know before trusting a measurement.

    `dropped`: packets that no queue has counted. `netstats`: /proc/net/netstat of each node.
    """
    if dropped:
        yield f"{dropped} packets were dropped behind a port, where no queue counts them"
    for node, text in netstats.items():
        counters = dict(_counters(text))
        if counters.get("TCPMemoryPressures", 0):
            yield f"TCP in {node or 'root'} ran short of memory: give the network more (memory=)"


def _counters(text: str) -> Iterator[tuple[str, int]]:
    """Pairs of lines: names, then numbers."""
    lines = text.splitlines()
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        yield from zip(names.split()[1:], map(int, numbers.split()[1:]), strict=True)
