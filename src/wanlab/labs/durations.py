"""Durations in lab.yaml ("4s", "250ms", "2min"), and how long the commands of a unit take."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wanlab.errors import WanlabError
from wanlab.machine.guest_environment import programs
from wanlab.units import parse_rate

from .unit import Step, Unit

UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}

DEFAULT_FLOW_S = 10.0  # iperf3 without -t
OPTION = r"\s-{}\s*([\d.]+)"
AMOUNT = re.compile(r"\s-n\s*([\d.]+)([KMGT]?)")
"""How much iperf3 sends, if not for how long."""
FRAME_BYTES, PAYLOAD_BYTES = 1538, 1448
"""A full frame on the wire, and the payload in it."""


def parse_duration(text: str) -> int:
    """Return the duration in ns. Raises WanlabError if the text is not a duration."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if not match or (match[2] or "s") not in UNITS_NS:
        raise WanlabError(f"{text!r} is not a duration", 'as in "4s" or "250ms"')
    return round(float(match[1]) * UNITS_NS[match[2] or "s"])


def network_seconds(unit: Unit, steps: Sequence[Step]) -> float:
    """Estimate the network time of steps by the durations in their commands."""
    return sum(step_seconds(unit, step, steps) for step in steps)


def step_seconds(unit: Unit, step: Step, steps: Sequence[Step]) -> float:
    """Estimate how long a step takes; `steps` has those whose lines wait for its Enter."""
    if step.skip or step.starts or step.waits_for_enter:
        return 0.0
    if step.enter:  # the commands run at the same time
        waiting = (one for one in steps if one.n in step.enter)
        return max((_typed_seconds(unit, one) for one in waiting), default=0.0)
    return _typed_seconds(unit, step)


def check_seconds(unit: Unit) -> float:
    """Estimate the network time of a unit's check."""
    flows = {check.flows for check in unit.check if check.flows}
    measured = (max(seconds_in(flow.command, unit) for flow in group) for group in flows)
    states = (seconds_in(check.state, unit) for check in unit.check if check.state)
    return sum(measured) + sum(states)


def seconds_in(line: str, unit: Unit) -> float:
    """Estimate the network time of a command, in seconds, from its options and the unit's scripts.

    A number of bytes (-n) is sent at the unit's line rate, which is right where no shaper is slower.
    Without a line rate, its time is not known, and 0 here.
    """
    if "iperf3" in line and " -c " in line:
        return _flow_seconds(line, unit) + _option(line, "O", 0.0)
    if line.startswith("source "):
        return _script_seconds(line.removeprefix("source ").strip(), unit)
    if line.startswith("ping "):
        return _option(line, "c", 0.0) * _option(line, "i", 1.0)
    if line.startswith("sleep "):
        return float(line.split()[1])
    return 0.0


def _typed_seconds(unit: Unit, step: Step) -> float:
    if step.for_ns is not None:
        return step.for_ns / 1e9
    return sum(seconds_in(line, unit) for line in step.lines)


def _flow_seconds(line: str, unit: Unit) -> float:
    amount = AMOUNT.search(line)
    if amount is None:
        return _option(line, "t", DEFAULT_FLOW_S)
    if unit.line_rate == "0":
        return 0.0
    kilo: float = 1024 ** " KMGT".index(amount[2] or " ")
    payload_bits = 8 * float(amount[1]) * kilo
    return payload_bits * FRAME_BYTES / PAYLOAD_BYTES / parse_rate(unit.line_rate)


def _script_seconds(name: str, unit: Unit) -> float:
    """Return how long a script at Mininet's prompt takes: what it leaves running, runs together."""
    own = unit.folder / name
    text = own.read_text(encoding="utf-8") if own.is_file() else programs().get(name, "")
    one_by_one, together = 0.0, [0.0]
    for line in text.splitlines():
        command = line.partition(" ")[2]  # after the name of the node
        if command.endswith("&"):
            together.append(seconds_in(command, unit))
        else:
            one_by_one += seconds_in(command, unit)
    return one_by_one + max(together)


def _option(line: str, letter: str, default: float) -> float:
    match = re.search(OPTION.format(letter), line)
    return float(match[1]) if match else default
