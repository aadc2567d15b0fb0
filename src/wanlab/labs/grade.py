"""Grades a network: what a student has left, by its state and by measurements of our own.

A check looks at a state (`tc -j qdisc show dev s1-eth2`) or lets flows run; each is worth points, and
one that is missed leads to a hint: where to look, not what the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.measure.metrics import StepOutput, parse_metric
from wanlab.network import Finished

from .lab import readable
from .outcome import OPEN, band_text, told
from .unit import CLIENT, Check, Flow, Unit

SETTLE = "500ms"
FLOW_LIMIT = "600s"
Say = Callable[[str], None]
Measured = dict[tuple[Flow, ...], list[str]]
"""What each set of flows has printed."""


@dataclass(frozen=True)
class Mark:
    """What came of one check."""

    check: Check
    is_passed: bool
    value: float | None
    reason: str

    @property
    def points(self) -> float:
        return self.check.points if self.is_passed else 0.0

    def report(self) -> dict[str, Any]:
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
    """All checks of a unit, in order. Checks of the same flows share one measurement."""
    marks = []
    measured: Measured = {}
    for check in unit.check:
        say(f"check: {check.what}")
        marks.append(_mark(check, network, measured))
    return marks


def report(unit: Unit, marks: Sequence[Mark], seed: int) -> dict[str, Any]:
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


def _mark(check: Check, network: Network, measured: Measured) -> Mark:
    try:
        step_output = _look(check, network, measured)
        missing = [words for words in check.says if told(words, step_output.output).status == OPEN]
        if not check.metric:
            return Mark(
                check, not missing, None, f"it does not say {missing[0]}" if missing else ""
            )
        value = parse_metric(check.metric)(step_output).value
    except WanlabError as error:
        return Mark(check, False, None, str(error))
    return Mark(check, check.band.holds(value) and not missing, value, "")


def _look(check: Check, network: Network, measured: Measured) -> StepOutput:
    if check.flows:
        if check.flows not in measured:
            measured[check.flows] = _let_flow(check.flows, network)
        outputs = measured[check.flows]
        return StepOutput("".join(outputs), outputs)
    finished = _place(check.place, network).run(check.state, check=False, timeout=FLOW_LIMIT)
    return StepOutput(finished.output + finished.errors)


def _place(name: str, network: Network) -> Any:
    return network.root if name == CLIENT else network[name]


def _let_flow(flows: Sequence[Flow], network: Network) -> list[str]:
    """All at once. A server of the student's that runs already will do as well as ours."""
    servers = [_start_server(flow, network) for flow in flows]
    network.run_for(SETTLE)
    clients = [_place(flow.client, network).start(flow.command) for flow in flows]
    try:
        ended: list[Finished] = [one.finish(FLOW_LIMIT, check=False) for one in clients]
    finally:
        for server in servers:
            if server.is_running:
                server.stop()
    return [one.output + one.errors for one in ended]


def _start_server(flow: Flow, network: Network) -> Process:
    """On the port that the client asks for."""
    words = flow.command.split()
    port = words[words.index("-p") + 1] if "-p" in words else "5201"
    started: Process = _place(flow.server, network).start(["iperf3", "-s", "-p", port])
    return started
