"""Changes a port from one state to another while the network runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wanlab.operations import (
    ChangeConditions,
    LoadOpportunities,
    Operation,
    Shape,
)
from wanlab.topology.model import Conditions, Port
from wanlab.topology.tc_queues import limit_bytes

from .shaping import (
    DEFAULT_QUEUE,
    DELAY_LINE,
    NO_DELAY,
    SHAPER,
    burst_bytes,
    delay_line_packets,
    netem_words,
    shape_lines,
    tbf_words,
)

CERTAINTY = (1 << 32) - 1
"""The probability 1, in the units of netem."""


def reshape(namespace: str, before: Port, after: Port) -> list[Operation]:
    """Return operations that replace a port's queueing disciplines; packets in the old ones are lost."""
    name = after.name
    assert name is not None
    remove = (f"qdisc del dev {name} root",) if shape_lines(before) else ()
    lines = remove + shape_lines(after)
    shaped: list[Operation] = [Shape(namespace, name, lines)] if lines else []
    return shaped + list(load_trace(namespace, after))


def load_trace(namespace: str, port: Port) -> Iterator[Operation]:
    """Yield the operation that loads the trace by which a port delivers, if it has one."""
    trace, name = port.conditions.trace, port.name
    if trace is not None:
        assert name is not None
        once = port.conditions.trace_once
        yield LoadOpportunities(namespace, name, SHAPER, trace.at_ms, once)


def schedule_changes(namespace: str, port: Port) -> Iterator[tuple[int, ChangeConditions]]:
    """Yield the changes of a port's schedule, each with its time in ns from the start.

    The iterator never ends if the schedule repeats.
    """
    states = port.conditions.states()
    repeat_ns = port.conditions.schedule_repeat_ns
    begin_ns = 0
    before = states[0][1]
    while port.conditions.schedule is not None:
        for at_ns, state in states if begin_ns else states[1:]:
            yield begin_ns + at_ns, change(namespace, port, before, state)
            before = state
        if repeat_ns is None:
            return
        begin_ns += repeat_ns


def change(namespace: str, port: Port, before: Conditions, after: Conditions) -> ChangeConditions:
    """Return the operation from one state of a schedule to another; no packet is lost."""
    name = port.name
    assert name is not None
    lines = []
    shaper: dict[str, int] | None = None
    delay_line: dict[str, int] | None = None
    if after.rate_bps is not None and after.rate_bps != before.rate_bps:
        changed = replace(port, conditions=after)
        queue = after.queue or DEFAULT_QUEUE
        shaper = {
            "handle": SHAPER,
            "rate_bps": after.rate_bps,
            "burst_bytes": burst_bytes(changed),
            # tbf sets its limit on any fifo below it, in the units of that fifo (bytes or packets).
            "limit": queue.limit_packets or limit_bytes(changed, queue),
        }
        words = tbf_words(changed, queue).rpartition(" ")[0]
        lines.append(f"qdisc change dev {name} handle {SHAPER}: tbf {words} {shaper['limit']}")
    if netem_words(after) != netem_words(before):
        delay_line = {
            "handle": DELAY_LINE,
            "limit": delay_line_packets(after),
            "delay_ns": after.delay_ns,
            "jitter_ns": after.jitter_ns,
            "loss": round(after.loss_fraction * CERTAINTY),
            "duplicate": round(after.duplicate_fraction * CERTAINTY),
            "reorder": round(after.reorder_fraction * CERTAINTY),
            "reorder_gap": after.reorder_gap,
            "reorder_correlation": round(after.reorder_correlation_fraction * CERTAINTY),
        }
        words = netem_words(after) or NO_DELAY
        lines.append(f"qdisc change dev {name} handle {DELAY_LINE}: netem {words}")
    return ChangeConditions(namespace, name, tuple(lines), shaper, delay_line)
