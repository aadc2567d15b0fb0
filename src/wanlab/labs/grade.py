"""Grades the network that a student has built, by its state and by measurements.

A check reads a state (`tc -j qdisc show dev s1-eth2`) or measures flows. Each check is worth points. A
check that fails gives a hint, which says where to look but not what the answer is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.jobs.job import Say
from wanlab.measure import Sent, packets_received, sent_through, side_paths
from wanlab.measure.metrics import StepOutput, parse_metric
from wanlab.network import Finished
from wanlab.units import parse_time

from .outcome import band_text, readable, text_figure
from .report import CheckReport, GradeReport
from .unit import CLIENT, Check, CheckFlow, Unit

SETTLE = "500ms"
PING_ANSWER = " bytes from "
FLOW_PROGRAM = "iperf3"
FLOW_ERROR = re.compile(r'^\s*"error":\s*"(.*)"|^iperf3: error - (.*)', re.MULTILINE)
RATE = re.compile(r"\b(tbf|htb|hfsc|cake|maxrate|rate)\b")
ENDLESS = "not measured: nothing limits the rate of this network yet, so the test would not end"
DETOUR = "not measured, because packets could avoid the ports that they must pass: {}"
MAX_DETOURS = 3
FLOW_LIMIT = "600s"
FLOW_LIMIT_NS = parse_time(FLOW_LIMIT)
MAX_PACKETS = 20_000_000
"""The limit of one measurement, counted at each port at which packets arrive.

Correct networks of the course need at most about half (Exercise 6: 120 s at 200 Mbit/s). Without rate
limits, it would be 300 million.
"""
COUNTER_WRAPS = 1 << 32
COUNT_INTERVAL_NS = 1_000_000_000
"""The network time between two countings of packets."""
PROGRESS_NS = 5_000_000_000
"""The network time between two reports of how long a measurement has taken."""
TOO_MANY = (
    "the measurement was stopped: after {seconds:g} s of this test, the network had forwarded more "
    f"than {MAX_PACKETS // 1_000_000} million packets, more than any correct network does. Is a rate "
    "limit missing?"
)
WAITS = "this is right; its points count as soon as all measured checks pass"
"""The hint of a guard that passes, while another check does not."""
HEADER_SHARE = 0.02
"""The fraction by which a port's sent bytes may be below the bytes that iperf3 has received.

The counters are read before and after the flows, not at the same instants as iperf3's.
"""


@dataclass(frozen=True)
class Measurement:
    """The clients' outputs of a set of flows, and what each port sent meanwhile."""

    outputs: list[str]
    sent: Mapping[str, Sent]
    ended: str = ""
    """Why the flows were stopped early; empty if they were not."""


Measurements = dict[tuple[CheckFlow, ...], Measurement]
ReportSeconds = Callable[[float], None]
"""Called now and then with the network time that a measurement has taken so far."""


class CommandNode(Protocol):
    """The part of a node, or of the root namespace, that checks use."""

    def run(self, command: str, /, *, check: bool, timeout: str) -> Finished: ...

    def start(self, command: str | list[str], /) -> Process: ...


@dataclass(frozen=True)
class Mark:
    """The result of one check."""

    check: Check
    is_passed: bool
    value: float | None
    reason: str
    counts: bool = True
    """False for a guard if a measured check fails."""
    unit: str = ""
    """The unit of `value`."""

    @property
    def points(self) -> float:
        return self.check.points if self.is_passed and self.counts else 0.0

    @property
    def _hint(self) -> str:
        if not self.is_passed:
            return self.check.hint
        return "" if self.counts else WAITS

    def report(self) -> CheckReport:
        return {
            "what": self.check.what,
            "measured": bool(self.check.flows),
            "passed": self.is_passed,
            "points": whole(self.points),
            "of": whole(self.check.points),
            "value": self.value,
            "value_text": "-"
            if self.value is None
            else f"{readable(self.value)} {self.unit}".strip(),
            "band": band_text(self.check.band, self.unit),
            "guard": self.check.is_guard,
            "counts": self.counts,
            "hint": self._hint,
            "reason": self.reason,
        }


def programs_of(unit: Unit) -> list[str]:
    """Return the programs that the checks of a unit run, and bash, iperf3 and python3."""
    commands = [check.state for check in unit.check if check.state]
    commands += [flow.command for check in unit.check for flow in check.flows]
    return sorted({command.split()[0] for command in commands} | {"bash", "iperf3", "python3"})


def grade(unit: Unit, network: Network, say: Say = lambda line: None) -> list[Mark]:
    """Perform all checks of a unit, in order. Checks of the same flows share one measurement."""
    marks = []
    measured: Measurements = {}
    ports = {port: None for check in unit.check for port in check.through}
    is_unlimited = unit.line_rate == "0" and network.clock == "virtual"
    is_endless = is_unlimited and not _limits_a_rate(network)
    detours = "; ".join(side_paths(network)[:MAX_DETOURS]) if ports else ""
    for number, check in enumerate(unit.check, 1):
        title = f"check {number} of {len(unit.check)}"
        say(f"{title}: {check.what}")
        if check.through and detours:
            marks.append(Mark(check, False, None, DETOUR.format(detours)))
            continue
        if is_endless and any(FLOW_PROGRAM in flow.command for flow in check.flows):
            marks.append(Mark(check, False, None, ENDLESS))
            continue

        def report_seconds(seconds: float, title: str = title, what: str = check.what) -> None:
            say(f"{title}, {seconds:.0f} s measured: {what}")

        marks.append(_mark(check, network, measured, list(ports), report_seconds))
    return _with_guards(marks)


def _limits_a_rate(network: Network) -> bool:
    """Whether the queueing discipline of some port limits its rate.

    Without one, and on links without a rate, a flow is infinitely fast: no virtual time passes, and
    the flow does not end.
    """
    nodes: list[CommandNode] = [
        network.root,
        *(network[host.name] for host in network.topology.hosts),
    ]
    return any(
        RATE.search(node.run("tc qdisc show", check=False, timeout=FLOW_LIMIT).output)
        for node in nodes
    )


def _with_guards(marks: Sequence[Mark]) -> list[Mark]:
    """Let guards, which show that nothing was broken, count only if all measured checks pass.

    If no check measures anything, all checks that are not guards must pass.
    """
    achievements = [mark for mark in marks if not mark.check.is_guard]
    measured = [mark for mark in achievements if mark.check.flows] or achievements
    counts = all(mark.is_passed for mark in measured)
    return [replace(mark, counts=counts or not mark.check.is_guard) for mark in marks]


def report(unit: Unit, marks: Sequence[Mark], seed: int) -> GradeReport:
    return {
        "unit": unit.name,
        "title": unit.title,
        "seed": seed,
        "variant": unit.variant(seed),
        "points": whole(sum(mark.points for mark in marks)),
        "of": whole(sum(check.points for check in unit.check)),
        "passed": bool(marks) and all(mark.is_passed for mark in marks),
        "checks": [mark.report() for mark in marks],
    }


def notes_on_processor(network: Network) -> list[str]:
    """Return a note if the graded network is not like those of a class."""
    if network.cpu is None:
        return []
    return [f"graded with the processor {network.cpu.model}; a class is graded without one"]


def whole(number: float) -> float:
    """Return a whole number as an int, so that it is written as 9 and not as 9.0."""
    return int(number) if number == int(number) else number


def _mark(
    check: Check,
    network: Network,
    measured: Measurements,
    ports: Sequence[str],
    report: ReportSeconds,
) -> Mark:
    try:
        step_output = _measure(check, network, measured, ports, report)
        missing = [t for t in check.says if not text_figure(t, step_output.output).in_band]
        if not check.metric:
            reason = f"the output does not contain {missing[0]}" if missing else ""
            return Mark(check, not missing, None, reason)
        metric = parse_metric(check.metric)(step_output)
    except WanlabError as error:
        return Mark(check, False, None, str(error))
    is_passed = check.band.holds(metric.value) and not missing
    return Mark(check, is_passed, metric.value, "", unit=metric.unit)


def _measure(
    check: Check,
    network: Network,
    measured: Measurements,
    ports: Sequence[str],
    report: ReportSeconds,
) -> StepOutput:
    if check.flows:
        if check.flows not in measured:
            before = _sent(network, ports)
            outputs, ended = _run_flows(check.flows, network, report)
            sent = _since(before, _sent(network, ports))
            measured[check.flows] = Measurement(outputs, sent, ended)
        measurement = measured[check.flows]
        if measurement.ended:
            raise WanlabError(measurement.ended)
        _verify_load(check, measurement)
        _verify_path(check, measurement)
        return StepOutput("".join(measurement.outputs), measurement.outputs)
    node = _node(check.terminal, network)
    before = _sent(network, check.through)
    finished = node.run(check.state, check=False, timeout=FLOW_LIMIT)
    output = finished.output + finished.stderr
    _verify_path(check, Measurement([output], _since(before, _sent(network, check.through))))
    return StepOutput(output)


def _sent(network: Network, ports: Sequence[str]) -> dict[str, Sent]:
    return sent_through(network, ports) if ports else {}


def _since(before: Mapping[str, Sent], after: Mapping[str, Sent]) -> dict[str, Sent]:
    return {
        port: Sent(sent.packets - before[port].packets, sent.bytes - before[port].bytes)
        for port, sent in after.items()
    }


def _verify_load(check: Check, measurement: Measurement) -> None:
    """Raise WanlabError if a ping was measured beside a flow that sent nothing."""
    if not check.metric.startswith("ping"):
        return
    for flow, output in zip(check.flows, measurement.outputs, strict=True):
        error = FLOW_ERROR.search(output) if FLOW_PROGRAM in flow.command else None
        if error and not _received_bytes(output):
            raise WanlabError(
                f"the flow from {flow.client} to {flow.server} failed: {error[1] or error[2]}"
            )


def _verify_path(check: Check, measurement: Measurement) -> None:
    """Compare the output of programs with the kernel's counters of the ports that they must use.

    Raises WanlabError if the traffic took another path: an added link, or no link at all.
    """
    received_bytes = sum(map(_received_bytes, measurement.outputs))
    answers = sum(output.count(PING_ANSWER) for output in measurement.outputs)
    for port in check.through:
        sent = measurement.sent[port]
        if sent.bytes < received_bytes * (1 - HEADER_SHARE) or sent.packets < answers:
            raise WanlabError(
                f"the measured traffic did not pass {port}: {received_bytes:,.0f} bytes and {answers} "
                f"answers were received, while {port} sent {sent.bytes:,} bytes in "
                f"{sent.packets:,} packets"
            )


def _received_bytes(output: str) -> float:
    """Return the received bytes in the output of `iperf3 -J`; 0 for other output."""
    try:
        return parse_metric("json.end.sum_received.bytes")(StepOutput(output)).value
    except WanlabError:
        return 0.0


def _node(name: str, network: Network) -> CommandNode:
    return network.root if name == CLIENT else network[name]


def _run_flows(
    flows: Sequence[CheckFlow], network: Network, report: ReportSeconds
) -> tuple[list[str], str]:
    """Run all flows at once; return the clients' outputs, and why they were stopped early, or "".

    If a server of the student is already running, the clients connect to that one.
    """
    servers = [_start_server(flow, network) for flow in flows if FLOW_PROGRAM in flow.command]
    network.run_for(SETTLE)
    clients = [_node(flow.client, network).start(flow.command) for flow in flows]
    ended = ""
    try:
        ended = _wait_for_clients(clients, network, report)
        finished = [client.finish(FLOW_LIMIT, check=False) for client in clients if not ended]
    finally:
        for process in [*servers, *(clients if ended else ())]:
            if process.is_running:
                process.stop()
    return [client.output + client.stderr for client in finished], ended


def _wait_for_clients(
    clients: Sequence[Process], network: Network, report: ReportSeconds = lambda seconds: None
) -> str:
    """Wait until the clients end, or until the network has forwarded MAX_PACKETS packets.

    Return why the limit stopped them, or "". On virtual time, the limit is reached at the same
    instant in each run. On the real clock there is no limit: more packets do not take longer, and the
    counters may be those of the whole computer.
    """
    has_limit = network.clock == "virtual"
    before, began_ns = packets_received(network) if has_limit else 0, network.now_ns
    reported_ns = began_ns
    while any(client.is_running for client in clients):
        passed_ns = network.now_ns - began_ns
        if passed_ns >= FLOW_LIMIT_NS:
            return ""
        if has_limit and (packets_received(network) - before) % COUNTER_WRAPS > MAX_PACKETS:
            return TOO_MANY.format(seconds=passed_ns / 1e9)
        if network.now_ns - reported_ns >= PROGRESS_NS:
            reported_ns = network.now_ns
            report(passed_ns / 1e9)
        network.run_until_condition(
            lambda: not any(client.is_running for client in clients), COUNT_INTERVAL_NS
        )
    return ""


def _start_server(flow: CheckFlow, network: Network) -> Process:
    """Start a server on the port that the client uses."""
    words = flow.command.split()
    port = words[words.index("-p") + 1] if "-p" in words else "5201"
    return _node(flow.server, network).start(["iperf3", "-s", "-p", port])
