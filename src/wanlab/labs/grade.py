"""Grades a network: what a student has built, by its state and by measurements.

A check looks at a state (`tc -j qdisc show dev s1-eth2`) or lets flows run. Each is worth points; a
check that is missed gives a hint, which says where to look and not what the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.measure.metrics import StepOutput, parse_metric
from wanlab.network import Finished

from .outcome import band_text, readable, text_figure
from .report import OPEN, CheckReport, GradeReport
from .unit import CLIENT, Check, CheckFlow, Unit

SETTLE = "500ms"
FLOW_LIMIT = "600s"
Say = Callable[[str], None]
FlowOutputs = dict[tuple[CheckFlow, ...], list[str]]
"""What the clients of each set of flows printed."""


class CommandNode(Protocol):
    """A node, or the root namespace, as a check uses it."""

    def run(self, command: str, /, *, check: bool, timeout: str) -> Finished: ...

    def start(self, command: str | list[str], /) -> Process: ...


@dataclass(frozen=True)
class Mark:
    """The result of one check."""

    check: Check
    is_passed: bool
    value: float | None
    reason: str

    @property
    def points(self) -> float:
        return self.check.points if self.is_passed else 0.0

    def report(self) -> CheckReport:
        return {
            "what": self.check.what,
            "measured": bool(self.check.flows),
            "passed": self.is_passed,
            "points": self.points,
            "of": self.check.points,
            "value": self.value,
            "value_text": "-" if self.value is None else readable(self.value),
            "band": band_text(self.check.band),
            "hint": "" if self.is_passed else self.check.hint,
            "reason": self.reason,
        }


def grade(unit: Unit, network: Network, say: Say = lambda line: None) -> list[Mark]:
    """Perform all checks of a unit, in order. Checks of the same flows share one measurement."""
    marks = []
    measured: FlowOutputs = {}
    for check in unit.check:
        say(f"check: {check.what}")
        marks.append(_mark(check, network, measured))
    return marks


def report(unit: Unit, marks: Sequence[Mark], seed: int) -> GradeReport:
    return {
        "unit": unit.name,
        "title": unit.title,
        "seed": seed,
        "variant": unit.variant(seed),
        "points": sum(mark.points for mark in marks),
        "of": sum(check.points for check in unit.check),
        "passed": bool(marks) and all(mark.is_passed for mark in marks),
        "checks": [mark.report() for mark in marks],
    }


def _mark(check: Check, network: Network, measured: FlowOutputs) -> Mark:
    try:
        step_output = _measure(check, network, measured)
        missing = [t for t in check.says if text_figure(t, step_output.output).status == OPEN]
        if not check.metric:
            reason = f"the output does not contain {missing[0]}" if missing else ""
            return Mark(check, not missing, None, reason)
        value = parse_metric(check.metric)(step_output).value
    except WanlabError as error:
        return Mark(check, False, None, str(error))
    return Mark(check, check.band.holds(value) and not missing, value, "")


def _measure(check: Check, network: Network, measured: FlowOutputs) -> StepOutput:
    if check.flows:
        if check.flows not in measured:
            measured[check.flows] = _run_flows(check.flows, network)
        outputs = measured[check.flows]
        return StepOutput("".join(outputs), outputs)
    node = _node(check.terminal, network)
    finished = node.run(check.state, check=False, timeout=FLOW_LIMIT)
    return StepOutput(finished.output + finished.stderr)


def _node(name: str, network: Network) -> CommandNode:
    return network.root if name == CLIENT else network[name]


def _run_flows(flows: Sequence[CheckFlow], network: Network) -> list[str]:
    """Run all flows at once. Where a server of the student's is running, it is used."""
    servers = [_start_server(flow, network) for flow in flows]
    network.run_for(SETTLE)
    clients = [_node(flow.client, network).start(flow.command) for flow in flows]
    try:
        finished: list[Finished] = [client.finish(FLOW_LIMIT, check=False) for client in clients]
    finally:
        for server in servers:
            if server.is_running:
                server.stop()
    return [client.output + client.stderr for client in finished]


def _start_server(flow: CheckFlow, network: Network) -> Process:
    """Start a server on the port that the client uses."""
    words = flow.command.split()
    port = words[words.index("-p") + 1] if "-p" in words else "5201"
    return _node(flow.server, network).start(["iperf3", "-s", "-p", port])
