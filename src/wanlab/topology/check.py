"""Find all problems of a topology at once, each with its position.

`check` never raises and never stops at the first problem. The position of a problem is a place in the
file ("links[2].dest", "line 7"), or the node or link ("link h1-s1") if the topology was made in Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from ipaddress import IPv4Interface, IPv6Interface
from itertools import accumulate
from typing import NamedTuple, TypeVar

from wanlab.errors import Problem, TopologyError, WanlabError, did_you_mean
from wanlab.topology import addresses
from wanlab.topology.check_nodes import (
    Report,
    check_ip,
    check_mac,
    check_name,
    check_node,
    check_vlan,
    is_name,
)
from wanlab.topology.model import (
    Conditions,
    Controller,
    Host,
    Node,
    Port,
    Queue,
    Router,
    Switch,
    Topology,
)
from wanlab.topology.nic import BY_RULE, problems_of
from wanlab.topology.settings import COUNT, DISTRIBUTIONS, FRACTION, QUEUES, SETTINGS, TIME
from wanlab.topology.words import WORD_OF_FIELD
from wanlab.units import format_rate, format_time

MAX_BRIDGE_PORTS = 1023  # net/bridge/br_private.h: BR_PORT_BITS; number 0 is not used
MAX_PORT_NUMBER = 2**16 - 1  # two bytes of an automatic MAC
MAX_RATE_BPS = 10**13
# tbf stores the duration of a burst of two packets in 32 bits, in units of 64 ns (pkt_sched.h).
MAX_BURST_NS = 2**32 * 64
FRAME_HEADER_BYTES, DEFAULT_MTU = 14, 1500
MAX_QUEUE_BYTES = 2**32 - 1  # tc takes limits of 32 bits
MAX_DELAY_NS = 3600 * 10**9
MAX_COUNT = 10**9
# Changing a port costs the computer some 0.1 ms.
MIN_TIME_PER_CHANGE_NS = 100_000
MIN_MTU, MAX_MTU = 68, 65535  # RFC 791; veth's max_mtu

Element = TypeVar("Element", int, str)


def check(topology: Topology) -> list[Problem]:
    """Return all problems, in the order of the topology."""
    findings = _Findings(topology)
    _check_base(findings)
    for index, node in enumerate(topology.nodes):
        check_node(findings.of_node(index), node, topology)
    for index, link in enumerate(topology.links):
        report = findings.of_link(index)
        for end, port, other in (("a", link.a, link.b), ("b", link.b, link.a)):
            _check_end(report, end, port, topology)
            verdict = findings.verdict_on(port.conditions)
            _check_conditions(report, port, f"from {port.node} to {other.node}", verdict)
        if link.a.node == link.b.node:
            report("b", f'the link leads from "{link.a.node}" to itself', "links join two nodes")
    _check_names_are_unique(findings)
    _check_switch_ports(findings)
    if not findings.problems:
        _check_addresses_agree(findings)
    return findings.problems


def ensure(topology: Topology) -> Topology:
    """Return the topology itself; raise TopologyError if it has problems."""
    if problems := check(topology):
        raise TopologyError(problems, topology.source.file)
    return topology


def accept(topology: Topology, problems: Sequence[Problem], file: str) -> Topology:
    """Return a topology that was read from a file; raise TopologyError if either has a problem.

    A field that could not be read is reported once, not again for the default that replaces it.
    """
    if everything := [*problems, *undamaged_problems(topology, problems)]:
        raise TopologyError(everything, file)
    return topology


def undamaged_problems(topology: Topology, problems: Sequence[Problem]) -> list[Problem]:
    """Return the topology's problems, except inside fields that `problems` reports as unreadable."""
    damaged = {problem.place for problem in problems if problem.place}
    return [
        more for more in check(topology) if damaged.isdisjoint(_place_and_those_around(more.place))
    ]


def _place_and_those_around(place: str) -> list[str]:
    """Return a, a.b and a.b.c for the place a.b.c."""
    return list(accumulate(place.split("."), "{}.{}".format))


class _Findings:
    """The problems found so far."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.problems: list[Problem] = []
        self._known: set[Problem] = set()
        self._verdicts: dict[Hashable, _Verdict] = {}

    def verdict_on(self, conditions: Conditions) -> _Verdict:
        """Judge conditions; those with one schedule, which may have many states, once for all links."""
        if conditions.schedule is None:
            return _Verdict.on(conditions)
        # The schedule itself would take as long to compare as to judge.
        rest = replace(conditions, schedule=None, trace=None)
        key = (id(conditions.schedule), id(conditions.trace), rest)
        if key not in self._verdicts:
            self._verdicts[key] = _Verdict.on(conditions)
        return self._verdicts[key]

    @cached_property
    def numbered(self) -> Topology:
        """The topology with the numbers and names of all ports."""
        return addresses.number_ports(self.topology)

    def add(self, path: str, thing: str, what: str, hint: str = "") -> None:
        problem = Problem(self.topology.source.place(path) or thing, what, hint)
        if problem not in self._known:  # the same problem in both directions counts once
            self._known.add(problem)
            self.problems.append(problem)

    def of_node(self, index: int) -> Report:
        def report(field: str, what: str, hint: str = "") -> None:
            self.add(f"nodes[{index}].{field}", str(self.topology.nodes[index]), what, hint)

        return report

    def of_link(self, index: int) -> Report:
        def report(field: str, what: str, hint: str = "") -> None:
            self.add(f"links[{index}].{field}", str(self.topology.links[index]), what, hint)

        return report


# Nodes


def _check_base(findings: _Findings) -> None:
    base = findings.topology.ip_base
    try:
        IPv4Interface(base)
    except ValueError:
        findings.add("ip_base", "ip_base", f'"{base}" is not an IPv4 network', 'as in "10.0.0.0/8"')
    base = findings.topology.ipv6_base
    try:
        if base:
            IPv6Interface(base)
    except ValueError:
        what = f'"{base}" is not an IPv6 network'
        findings.add("ipv6_base", "ipv6_base", what, 'as in "fd00::/64"')


# Links


def _check_end(report: Report, end: str, port: Port, topology: Topology) -> None:
    try:
        node = topology.node(port.node)
    except TopologyError as error:
        problem = error.problems[0]
        report(end, problem.what, problem.hint)
        return
    if isinstance(node, Controller):
        hint = "name it among the controllers of a switch instead"
        report(end, f'"{port.node}" is a controller, and carries no traffic', hint)
    field = f"{end}_port"
    if port.number is not None and not 0 <= port.number <= MAX_PORT_NUMBER:
        hint = f"it must be from 0 to {MAX_PORT_NUMBER}"
        report(field, f"{port.number} is not a number for a port", hint)
    if isinstance(node, Switch) and port.ip is not None:
        report(field, f"a port of switch {node.name} has the address {port.ip}", "use a router")
    check_ip(report, field, port.ip)
    check_mac(report, field, port.mac)
    _check_vlans(report, field, port, node)
    for wrong in problems_of(port.nic):
        report(field, wrong.what, wrong.hint)
    if port.nic != BY_RULE and not isinstance(node, Host | Router):
        hint = "give one to the other end of the link"
        report(field, f"a port of switch {node.name} has no NIC", hint)
    if port.speed_bps is not None and port.speed_bps < 0:
        report(field, f"the speed {port.speed_bps} bit/s is negative", "0 is unlimited")
    if port.mtu is not None and not MIN_MTU <= port.mtu <= MAX_MTU:
        report(field, f"the MTU cannot be {port.mtu}", f"it must be from {MIN_MTU} to {MAX_MTU}")


def _check_vlans(report: Report, field: str, port: Port, node: Node) -> None:
    numbers = (*port.trunks, *(() if port.vlan is None else (port.vlan,)))
    if numbers and not isinstance(node, Switch):
        hint = "only a switch's port has VLANs; a host takes vlan_interfaces"
        report(field, f"a port of {node} is given a VLAN", hint)
    for number in numbers:
        check_vlan(report, field, number)
    for number in _repeated(numbers):
        report(field, f"VLAN {number} is given twice to one port", "give it once")


def _repeated(items: Sequence[Element]) -> list[Element]:
    return sorted(item for item, count in Counter(items).items() if count > 1)


class _Verdict(NamedTuple):
    """What is wrong with conditions in themselves, and the rates that they have over time."""

    faults: tuple[tuple[str, str, str], ...]
    rates_bps: frozenset[int | None]

    @classmethod
    def on(cls, conditions: Conditions) -> _Verdict:
        rates_bps = frozenset(state.rate_bps for _, state in conditions.states())
        return cls(tuple(_faults(conditions)), rates_bps)


def _check_conditions(report: Report, port: Port, direction: str, verdict: _Verdict) -> None:
    conditions = port.conditions
    if conditions == Conditions():
        return
    for what, field, hint in verdict.faults:
        report(WORD_OF_FIELD[field], what if hint else f"{what} {direction}", hint)
    _check_rates_fit_packets(report, port, verdict)
    if conditions.queue is not None:
        _check_queue(report, conditions.queue, port, verdict)


def _check_rates_fit_packets(report: Report, port: Port, verdict: _Verdict) -> None:
    """Report a rate at which two packets take longer than the longest time that the shaper can store."""
    mtu = port.mtu or DEFAULT_MTU
    lowest_bps = -(-2 * (mtu + FRAME_HEADER_BYTES) * 8 * 10**9 // MAX_BURST_NS)
    for rate_bps in sorted(filter(None, verdict.rates_bps), reverse=True):
        if 0 < rate_bps < lowest_bps:
            what = f"a rate of {format_rate(rate_bps)} is too low for packets of {mtu} bytes"
            report("rate", what, f"at least {format_rate(lowest_bps)}")


def _faults(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    """Yield (what, field, hint) for everything except the queue."""
    rate = conditions.rate_bps
    if rate is not None and rate < 0:
        yield f"the rate {rate} bit/s is negative", "rate_bps", 'as in "10Mbps"'
    elif rate == 0:
        yield "a rate of 0 lets nothing through", "rate_bps", "leave it out, or set a loss of 100%"
    elif rate is not None and rate > MAX_RATE_BPS:
        yield (
            f"a rate of {format_rate(rate)} is too high",
            "rate_bps",
            f"at most {format_rate(MAX_RATE_BPS)}",
        )
    for word, setting in SETTINGS.items():
        field, value = setting.field, getattr(conditions, setting.field)
        if setting.kind is TIME and value < 0:
            yield f"the {word} {value} ns is negative", field, 'as in "20ms"'
        elif setting.kind is TIME and value > MAX_DELAY_NS:
            most = f"at most {format_time(MAX_DELAY_NS)}"
            yield f"a {word} of {format_time(value)} is too long", field, most
        elif setting.kind is FRACTION and not 0.0 <= value <= 1.0:
            yield f"the {word} {value} is not a fraction", field, "from 0 to 1"
        elif setting.kind is COUNT and not 0 <= value <= MAX_COUNT:
            yield f"the {word} {value} is out of range", field, f"from 0 to {MAX_COUNT}"
    for word, setting in SETTINGS.items():
        is_set = bool(getattr(conditions, setting.field))
        if is_set and setting.needs and not getattr(conditions, SETTINGS[setting.needs].field):
            what = f"{word} has no effect without {setting.needs}"
            yield what, setting.field, "give both, or neither"
    if conditions.distribution is not None and conditions.distribution not in DISTRIBUTIONS:
        hint = did_you_mean(conditions.distribution, DISTRIBUTIONS)
        yield f'unknown distribution "{conditions.distribution}"', "distribution", hint

    yield from _faults_of_trace(conditions)
    yield from _faults_of_schedule(conditions)


def _faults_of_trace(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    if conditions.trace is not None and conditions.rate_bps is not None:
        yield "a link has both a trace and a rate", "trace", "leave one of them out"
    if conditions.trace_once and conditions.trace is None:
        yield "trace_once has no effect without trace", "trace_once", "give both, or neither"


def _faults_of_schedule(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    repeat_ns = conditions.schedule_repeat_ns
    if conditions.schedule is None:
        if repeat_ns is not None:
            hint = "give both, or neither"
            yield "schedule_repeat has no effect without schedule", "schedule_repeat_ns", hint
        return
    last_ns = conditions.schedule.changes[-1].at_ns
    if repeat_ns is not None and repeat_ns <= last_ns:
        what = f"the schedule begins again after {format_time(repeat_ns)}"
        hint = f"its last change is at {format_time(last_ns)}, and must come before that"
        yield what, "schedule_repeat_ns", hint
    shortest_ns = MIN_TIME_PER_CHANGE_NS * len(conditions.schedule.changes)
    if repeat_ns is not None and last_ns < repeat_ns < shortest_ns:
        what = f"the schedule repeats after {format_time(repeat_ns)}, which is too often"
        yield what, "schedule_repeat_ns", f"at least {format_time(shortest_ns)}"
    first, *others = conditions.states()
    for at_ns, state in (first, *others):
        position = f"the schedule at {format_time(at_ns)}"
        for what, _, hint in _faults(replace(state, trace=None, trace_once=False)):
            yield f"{position}: {what}", "schedule", hint or "see the values before it"
    if first[1].rate_bps is None and any(state.rate_bps is not None for _, state in others):
        what = "the schedule changes the rate of a link that has none at first"
        hint = "give the link a rate, or set one in the schedule at 0s"
        if conditions.trace is not None:
            what, hint = "a link has both a trace and a rate", "leave one of them out"
        yield what, "schedule", hint


def _check_queue(report: Report, queue: Queue, port: Port, verdict: _Verdict) -> None:
    if queue.kind not in QUEUES:
        hint = did_you_mean(queue.kind, QUEUES)
        report("queue", f'unknown queue "{queue.kind}"', hint)
    for limit, unit in ((queue.limit_bytes, "bytes"), (queue.limit_packets, "packets")):
        if limit is not None and limit <= 0:
            report("queue", f"a queue of {limit} {unit} holds nothing", "let it hold at least one")
        frame_bytes = (port.mtu or DEFAULT_MTU) + FRAME_HEADER_BYTES if unit == "packets" else 1
        if limit is not None and limit * frame_bytes > MAX_QUEUE_BYTES:
            most = MAX_QUEUE_BYTES // frame_bytes
            report("queue", f"a queue of {limit} {unit} is too long", f"at most {most} {unit}")
    frame_bytes = (port.mtu or DEFAULT_MTU) + FRAME_HEADER_BYTES
    counts_bytes = queue.kind in QUEUES and QUEUES[queue.kind].counts_bytes
    if counts_bytes and 0 < (queue.limit_bytes or 0) < frame_bytes:
        what = f"a queue of {queue.limit_bytes} bytes drops every packet that is larger"
        report("queue", what, f"at least {frame_bytes} bytes, a packet with its header")
    for word, value in queue.options:
        if word.split() != [word] or value != " ".join(value.split()):
            report("queue", f'"{word} {value}" is not an option', 'as in ("target", "5ms")')
        if value.startswith("-"):
            report("queue", f'the option "{word} {value}" is negative', 'as in ("target", "5ms")')
    for word in _repeated([word for word, _ in queue.options]):
        report("queue", f'the option "{word}" is given twice', "give it once")
    conditions = port.conditions
    # netem holds packets, too, so with delay or loss a limit has an effect without a rate.
    is_limit_of_netem = (
        queue.kind == "fifo"
        and queue.limit_packets is not None
        and bool(conditions.delay_ns or conditions.loss_fraction)
    )
    is_shaped = conditions.trace is not None or verdict.rates_bps != {None}
    if not is_shaped and not port.speed_bps and not is_limit_of_netem:
        hint = "add a rate, or leave the queue out"
        report("queue", "a queue has no effect on a link without a rate", hint)


# Unique names, numbers and addresses


def _check_names_are_unique(findings: _Findings) -> None:
    """Report names that occur twice.

    Switches and their ports share the machine's root namespace; each other node has its own.
    """
    topology = findings.topology
    node_names = _Owners()
    for index, node in enumerate(topology.nodes):
        if first := node_names.claim(node.name, str(node)):
            what = f'the name "{node.name}" is taken by another node, {first}'
            findings.of_node(index)("name", what, "give each node its own name")
    switches = {switch.name for switch in topology.switches}
    interfaces, numbers = _Owners(), _Owners()
    for name in switches:
        interfaces.claim(("", name), f"switch {name}")
    known = {node.name for node in topology.nodes if is_name(node.name)}
    numbered = findings.numbered
    for index, link in enumerate(numbered.links):
        for end, port in (("a", link.a), ("b", link.b)):
            if port.node not in known:
                continue  # reported already; its ports do not matter
            report = findings.of_link(index)
            field = f"{end}_port"
            scope = "" if port.node in switches else port.node
            if first := interfaces.claim((scope, port.name), f"{port.node} in {link}"):
                what = f'the port name "{port.name}" of {port.node} is taken by {first}'
                report(field, what, "give each port its own name")
            if first := numbers.claim((port.node, port.number), str(link)):
                what = f"port {port.number} of {port.node} is taken by {first}"
                report(field, what, "give each port of a node its own number")
            check_name(report, field, port.name or "")


def _check_addresses_agree(findings: _Findings) -> None:
    """Report hosts that differ from their first port, and hosts for which there is no address."""
    topology = addresses.number_nodes(findings.numbered)
    for index, host in enumerate(topology.nodes):
        if isinstance(host, Host):
            _check_host_agrees_with_port(findings.of_node(index), host, topology)
            _check_base_has_address(findings.of_node(index), host, topology)


def _check_host_agrees_with_port(report: Report, host: Host, topology: Topology) -> None:
    for port in topology.ports(host.name)[:1]:
        for field, of_host, of_port in (("ip", host.ip, port.ip), ("mac", host.mac, port.mac)):
            if of_host and of_port and of_host != of_port:
                what = f"the host has {field} {of_host}, but its first port has {of_port}"
                report(field, what, "set it once")


def _check_base_has_address(report: Report, host: Host, topology: Topology) -> None:
    try:
        if host.ip is None and host.number is not None:
            addresses.automatic_ip(topology.ip_base, host.number)
        addresses.ipv6_of(host, topology)
    except WanlabError as error:
        report("ip", error.what, error.hint)


def _check_switch_ports(findings: _Findings) -> None:
    """Report bridges with more ports than Linux allows."""
    counts = Counter(port.node for link in findings.topology.links for port in link.ports)
    for index, node in enumerate(findings.topology.nodes):
        if isinstance(node, Switch) and node.kind == "bridge":
            count = counts[node.name] + len(node.external_interfaces)
            if count > MAX_BRIDGE_PORTS:
                what = f"the switch has {count} ports, but a Linux bridge has {MAX_BRIDGE_PORTS}"
                hint = 'use several switches, as in tree,2,71, or kind "ovs", Open vSwitch'
                findings.of_node(index)("name", what, hint)


class _Owners:
    """The first owner of each key."""

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}

    def claim(self, key: Hashable, owner: str) -> str:
        """Return the first owner of the key; if it has none, record `owner` and return ""."""
        if key in self._first:
            return self._first[key]
        self._first[key] = owner
        return ""
