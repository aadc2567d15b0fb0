"""Where packets were lost, and why: one table of every counter of lost packets in a network.

    for drop in wanlab.drops(net):
        print(drop.place, drop.packets, drop.cause, drop.remedy)

The counters count since the network began. They are those of qdiscs (sch_generic.h), of interfaces
(rtnetlink), and of IP, UDP and TCP in each node (RFC 1213, RFC 4293; net/ipv4/proc.c of Linux). What the
rules of a firewall drop is in their own counters; see `firewall`. The sampler `Drops` records
each packet with the place in the kernel that dropped it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

from wanlab.errors import WanlabError
from wanlab.netlink import framing, link_dump, qdisc_dump
from wanlab.netlink.link_dump import LinkCounters
from wanlab.netlink.port_conditions import (
    QUEUE_LIMITS,
    conditions_of,
    has_loss_model,
    limit_of,
    netem_limit,
)
from wanlab.netlink.qdisc import QdiscCounters
from wanlab.network import Network, kernel_limits
from wanlab.topology import Switch
from wanlab.units import format_rate, format_time

from .interface_drops import drops_of_interface

FRAME_BITS = 8 * 1514
MAX_SUMMARY_LINES = 3
MAX_SUMMARY_NODES = 64
"""A summary at the end of a run must not take longer than a short run: in a larger network it looks at
the switches and their ports only."""
SPACES_PER_READING = 50
DEVIATIONS = 5
"""By how many standard deviations random losses may exceed their mean."""
OF_BURSTS = 3
"""How much larger the deviation is where a loss model loses packets in bursts."""
FILES = ("/proc/net/snmp", "/proc/net/netstat", "/proc/net/snmp6")


@dataclass(frozen=True)
class Drop:
    """Packets that were lost at one place for one reason."""

    node: str
    """ "root" for the switches and their ports."""
    place: str
    """ "s1-eth2", or the name of a node."""
    what: str
    """The qdisc ("netem 10:") or the part of the node ("UDP") that counted them."""
    packets: int
    share: float
    """Of the packets that came to this place; 0 if they are not counted."""
    cause: str
    remedy: str = ""
    is_reported: bool = False
    """Whether the sender learns of it, by an error or an ICMP message, or another place counts it."""


@dataclass(frozen=True)
class NodeState:
    """The counters of one node."""

    name: str
    ports: Sequence[LinkCounters]
    qdiscs: Sequence[QdiscCounters]
    protocols: Mapping[str, int]
    """Such as {"UdpRcvbufErrors": 3}."""


def drops(network: Network) -> list[Drop]:
    """Return every place where packets of a running network were lost, most packets first.

    Reading takes no time of the network.
    """
    names = {node.name: network[node.name].namespace for node in network.topology.nodes}
    return drops_of(_states(network, list(dict.fromkeys(("", *names.values())))))


def summary(network: Network) -> list[str]:
    """Return at most three sentences about where a running network lost packets; [] if it lost none.

    They are about the drops that `Losses` counts.
    """
    return summary_of(Losses().since_last(network))


class Losses:
    """Finds out again and again what a running network has lost in the meantime.

    It leaves out losses that the sender learns of, such as queries to a name server that is out of
    reach, and a switch's own packets, which it sends before its ports forward. What a qdisc lost that
    was removed in the meantime is unknown.
    """

    def __init__(self) -> None:
        self._before: dict[str, NodeState] = {}

    def since_last(self, network: Network) -> list[Drop]:
        """Return the drops since the last call, or since the network began, most packets first.

        [] if the network cannot be read, because a program has removed a node's namespace, or the
        machine is gone.
        """
        nodes = network.topology.nodes
        spaces = dict.fromkeys(network[node.name].namespace for node in nodes)
        is_large = len(spaces) > MAX_SUMMARY_NODES
        try:
            states = _states(network, list(dict.fromkeys(("", *(() if is_large else spaces)))))
        except WanlabError:
            return []
        new = [_since(self._before.get(state.name), state) for state in states]
        self._before = {state.name: state for state in states}
        switches = {node.name for node in nodes if isinstance(node, Switch)}
        return [it for it in drops_of(new) if not it.is_reported and it.place not in switches]


def _since(before: NodeState | None, now: NodeState) -> NodeState:
    """Return the counters of a node without those of an earlier state."""
    if before is None:
        return now
    ports = {port.index: port for port in before.ports}
    qdiscs = {_key(qdisc): qdisc for qdisc in before.qdiscs}
    return NodeState(
        now.name,
        [_port_since(ports.get(port.index), port) for port in now.ports],
        [_qdisc_since(qdiscs.get(_key(qdisc)), qdisc) for qdisc in now.qdiscs],
        {name: _more(before.protocols.get(name, 0), n) for name, n in now.protocols.items()},
    )


def _more(before: int, now: int) -> int:
    """Return by how much a counter has grown; all of it if something new counts there now."""
    return now - before if now >= before else now


def _key(qdisc: QdiscCounters) -> tuple[str, str, str, str]:
    return qdisc.device, qdisc.kind, qdisc.handle, qdisc.parent


def _port_since(before: LinkCounters | None, now: LinkCounters) -> LinkCounters:
    if before is None or before.name != now.name:
        return now
    return replace(
        now,
        rx_packets=_more(before.rx_packets, now.rx_packets),
        tx_packets=_more(before.tx_packets, now.tx_packets),
        tx_errors=_more(before.tx_errors, now.tx_errors),
        rx_drops=_more(before.rx_drops, now.rx_drops),
        tx_drops=_more(before.tx_drops, now.tx_drops),
    )


def _qdisc_since(before: QdiscCounters | None, now: QdiscCounters) -> QdiscCounters:
    if before is None:
        return now
    return now._replace(
        packets=_more(before.packets, now.packets), drops=_more(before.drops, now.drops)
    )


def summary_of(found: Sequence[Drop]) -> list[str]:
    """Return at most three sentences about these drops, those with the most packets first."""
    shown = len(found) if len(found) <= MAX_SUMMARY_LINES else MAX_SUMMARY_LINES - 1
    lines = [sentence(drop) for drop in found[:shown]]
    if rest := found[shown:]:
        packets = sum(drop.packets for drop in rest)
        lines.append(f"{len(rest)} other places lost {packets} packets; wanlab drops shows them")
    return lines


def sentence(drop: Drop) -> str:
    """Return a drop in words: "s1-eth2 (netem 1:) lost 21 packets (0.86 %): its loss of 1 %"."""
    share = f" ({percentage(drop)})" if drop.share else ""
    count = f"{drop.packets} packet{'' if drop.packets == 1 else 's'}"
    return f"{drop.place} ({drop.what}) lost {count}{share}: {cause_and_remedy(drop)}"


def percentage(drop: Drop) -> str:
    percent = 100 * drop.share
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def cause_and_remedy(drop: Drop) -> str:
    return f"{drop.cause} (try: {drop.remedy})" if drop.remedy else drop.cause


def _states(network: Network, spaces: Sequence[str]) -> list[NodeState]:
    """Read the counters of these namespaces."""
    links = framing.request(link_dump.RTM_GETLINK, link_dump.request_body()).hex()
    queues = framing.request(qdisc_dump.RTM_GETQDISC, qdisc_dump.request_body()).hex()
    states = []
    for start in range(0, len(spaces), SPACES_PER_READING):
        read = spaces[start : start + SPACES_PER_READING]
        sources = [
            source
            for space in read
            for source in (
                ["route", space, links],
                ["route", space, queues],
                *(["file", space, path] for path in FILES),
            )
        ]
        parts = iter(network.read(sources))
        for space, ports_of, qdiscs_of, *texts in zip(read, *[parts] * 5, strict=False):
            ports = link_dump.decode(ports_of)
            qdiscs = qdisc_dump.decode(qdiscs_of, {port.index: port.name for port in ports})
            counters = protocol_counters(*(text.decode() for text in texts))
            states.append(NodeState(space or "root", ports, qdiscs, counters))
    return states


def drops_of(nodes: Iterable[NodeState]) -> list[Drop]:
    """Return the drops of all nodes, most packets first."""
    nodes = list(nodes)
    mtus = {port.mtu_bytes for node in nodes for port in node.ports if port.kind == "veth"}
    found = [drop for node in nodes for drop in (*_at_ports(node, mtus), *_in_protocols(node))]
    return sorted(found, key=lambda drop: -drop.packets)


def protocol_counters(snmp: str, netstat: str, snmp6: str = "") -> dict[str, int]:
    """Return the counters of /proc/net/snmp, netstat and snmp6, as nstat(8) names them."""
    counters = kernel_limits.protocol_counters(snmp) | kernel_limits.protocol_counters(netstat)
    for line in snmp6.splitlines():
        name, number = line.split()
        counters[name] = int(number)
    return counters


# -- ports ----------------------------------------------------------------------------------------


def _at_ports(node: NodeState, mtus: Collection[int]) -> Iterator[Drop]:
    by_port: dict[str, list[QdiscCounters]] = {}
    for qdisc in node.qdiscs:
        by_port.setdefault(qdisc.device, []).append(qdisc)
    for port in node.ports:
        yield from _in_queues(node.name, port.name, by_port.get(port.name, []))
        for lost in drops_of_interface(port, mtus):
            yield _drop(
                node.name,
                port.name,
                "interface",
                lost.packets,
                lost.passed,
                lost.cause,
                lost.remedy,
                is_reported=lost.is_known,
            )


def causes_at(qdiscs: Sequence[QdiscCounters]) -> str:
    """Return why the qdiscs of one port have lost packets, in words; "" if they have lost none."""
    drops = sorted(_in_queues("", "", qdiscs), key=lambda drop: -drop.packets)
    return "; ".join(dict.fromkeys(map(cause_and_remedy, drops)))


def _in_queues(node: str, port: str, qdiscs: Sequence[QdiscCounters]) -> Iterator[Drop]:
    """Yield the drops of each qdisc, without those of the qdiscs below it, which it counts, too."""
    for qdisc in qdiscs:
        if qdisc.kind in OF_FILTERS:  # it counts each packet that comes, and has nothing below
            below, passed = 0, qdisc.packets - qdisc.drops
        else:
            below = sum(
                other.drops
                for other in qdiscs
                if other.parent.partition(":")[0] == qdisc.handle.rstrip(":")
                and other.parent != "root"
                and other.kind not in OF_FILTERS
            )
            passed = qdisc.packets + below
        own = qdisc.drops - below
        if own > 0:
            cause, remedy = _cause(qdisc, own, qdiscs)
            what = f"{qdisc.kind} {qdisc.handle}"
            yield _drop(node, port, what, own, passed, cause, remedy)


def _cause(qdisc: QdiscCounters, drops: int, qdiscs: Sequence[QdiscCounters]) -> tuple[str, str]:
    if qdisc.kind == "netem":
        return _cause_in_netem(qdisc, drops, qdiscs)
    if qdisc.kind == "tbf" or qdisc.kind in QUEUE_LIMITS:
        return (
            f"the queue was full: its limit{limit_of(qdisc)}",
            "a larger limit, or a lower rate of arrivals",
        )
    if qdisc.kind in AQMS:
        return f"{qdisc.kind} signals congestion by dropping", "ECN, to mark instead of dropping"
    return OTHER_CAUSES.get(qdisc.kind, (f"{qdisc.kind} dropped them", ""))


OF_FILTERS = ("ingress", "clsact")
"""Qdiscs that hold filters only; their parent is their own handle."""
BY_A_FILTER = (
    "a filter dropped them (drop, police, or a redirection to an interface that is down)",
    "",
)
NO_CLASS = ("no class took them, or a filter dropped them", "a default class")
OTHER_CAUSES = {
    **dict.fromkeys(OF_FILTERS, BY_A_FILTER),
    **dict.fromkeys(("htb", "hfsc", "drr", "qfq"), NO_CLASS),
    **dict.fromkeys(("prio", "ets"), ("a filter dropped them", "")),
    "fq": ("its limit, its flow_limit or its horizon was reached", "a larger one"),
    "pfifo_fast": (
        "the queue was full: its limit is the interface's txqueuelen (1000 packets, unless changed)",
        "a larger one (ip link set dev PORT txqueuelen N)",
    ),
}
AQMS = (
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "cake",
    "cake_mq",
    "red",
    "gred",
    "sfb",
    "choke",
    "dualpi2",
    "hhf",
)


def _cause_in_netem(
    qdisc: QdiscCounters, drops: int, qdiscs: Sequence[QdiscCounters]
) -> tuple[str, str]:
    conditions = conditions_of([qdisc])
    limit = netem_limit(qdisc.options)
    came = qdisc.packets + qdisc.backlog_packets + drops
    loss = conditions.loss_fraction
    expected = loss * came
    loss_text = f"netem: its loss of {100 * loss:.4g} %"
    deviations = DEVIATIONS * (OF_BURSTS if has_loss_model(qdisc.options) else 1)
    if loss and drops <= expected + deviations * (sqrt(expected) + 1):
        return loss_text, ""
    limit_text = f"its limit of {limit} packets was full"
    rate_bps = conditions_of(qdiscs).rate_bps
    remedy = "a larger limit (max_queue_size of a TCLink)"
    if rate_bps and conditions.delay_ns:
        needed = ceil(rate_bps * conditions.delay_ns / 1e9 / FRAME_BITS)
        product = f"{format_rate(rate_bps)} times {format_time(conditions.delay_ns)}"
        remedy += f": {product} is {needed} packets"
    if not loss:
        return f"netem: {limit_text}", remedy
    return f"{loss_text} (about {round(expected)}), and {limit_text}", remedy


# -- protocols ------------------------------------------------------------------------------------

PROTOCOLS = (
    ("IpInHdrErrors", "IPv4", "their TTL had expired, or their header was wrong", "look for loops"),
    ("IpInAddrErrors", "IPv4", "they were not for this node, which does not forward", "ip_forward"),
    ("IpOutNoRoutes", "IPv4", "there was no route for them", "add a route"),
    ("IpExtInNoRoutes", "IPv4", "there was no route to forward them", "add a route"),
    ("IpInDiscards", "IPv4", "no memory was left for received packets", "more memory"),
    (
        "IpOutDiscards",
        "IPv4",
        "the neighbour did not answer ARP, or the node's own port or firewall did not take them",
        "",
    ),
    ("IpReasmFails", "IPv4", "fragments did not arrive in time", ""),
    (
        "IpFragFails",
        "IPv4",
        "they were larger than the MTU, and must not be fragmented",
        "a larger MTU",
    ),
    (
        "TcpExtIPReversePathFilter",
        "IPv4",
        "the reverse path filter refused them",
        "sysctl rp_filter",
    ),
    ("Ip6InHdrErrors", "IPv6", "their hop limit had expired, or their header was wrong", ""),
    (
        "Ip6InAddrErrors",
        "IPv6",
        "they were not for this node, which does not forward",
        "forwarding",
    ),
    ("Ip6InNoRoutes", "IPv6", "there was no route for received packets", "add a route"),
    ("Ip6OutNoRoutes", "IPv6", "there was no route for sent packets", "add a route"),
    ("Ip6InTooBigErrors", "IPv6", "they were larger than the MTU", "a larger MTU"),
    ("UdpRcvbufErrors", "UDP", "a program's receive buffer was full", "read faster, or SO_RCVBUF"),
    ("UdpSndbufErrors", "UDP", "a program's send buffer was full", "SO_SNDBUF"),
    ("UdpNoPorts", "UDP", "no program listened on the port", "start the receiver first"),
    ("UdpInCsumErrors", "UDP", "their checksum was wrong", ""),
    ("Udp6RcvbufErrors", "UDP", "a program's receive buffer was full", "read faster, or SO_RCVBUF"),
    ("Udp6NoPorts", "UDP", "no program listened on the port", "start the receiver first"),
    ("TcpInCsumErrors", "TCP", "their checksum was wrong", ""),
    (
        "TcpExtListenDrops",
        "TCP",
        "the queue of new connections was full",
        "a longer listen backlog",
    ),
    ("TcpExtTCPBacklogDrop", "TCP", "a socket's backlog was full", "SO_RCVBUF"),
    ("TcpExtTCPRcvQDrop", "TCP", "a socket's receive queue was full", "read faster"),
    ("TcpExtTCPReqQFullDrop", "TCP", "the queue of SYNs was full", "tcp_max_syn_backlog"),
)
"""Each counter of lost packets: its name as nstat(8) writes it, what counted them, cause and remedy."""
REPORTED = frozenset(
    (
        "IpInHdrErrors",
        "IpOutNoRoutes",
        "IpExtInNoRoutes",
        "IpOutDiscards",
        "IpFragFails",
        "Ip6InHdrErrors",
        "Ip6InNoRoutes",
        "Ip6OutNoRoutes",
        "Ip6InTooBigErrors",
        "UdpNoPorts",
        "Udp6NoPorts",
        "UdpSndbufErrors",
    )
)
"""Counters of packets whose sender gets an error or an ICMP message (RFC 1122, 3.2.2 and 3.3.8).
UdpSndbufErrors counts packets again that the queue of the node's own port has dropped."""


def _in_protocols(node: NodeState) -> Iterator[Drop]:
    for name, what, cause, remedy in PROTOCOLS:
        if packets := node.protocols.get(name, 0):
            is_reported = name in REPORTED
            yield _drop(
                node.name, node.name, what, packets, None, cause, remedy, is_reported=is_reported
            )


def _drop(
    node: str,
    place: str,
    what: str,
    packets: int,
    passed: int | None,
    cause: str,
    remedy: str = "",
    *,
    is_reported: bool = False,
) -> Drop:
    share = 0.0 if passed is None else packets / (packets + passed)
    return Drop(node, place, what, packets, share, cause, remedy, is_reported)
