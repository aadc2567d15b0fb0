"""Turns a port's conditions into queueing disciplines.

A packet that leaves a port passes, from the root down:

    1: netem   delay, jitter, loss, duplication, corruption, reordering   (if the conditions have any)
    2: tbf     rate                                                       (if there is one)
       opportunity   or, instead, a trace of when packets may leave
    3: queue   the queue itself: fifo, red, codel, ...                    (if it is not tbf's own)

netem is above the shaper, as in the course: a packet is delayed first and queued afterwards, which gives
the same round-trip time. netem's own queue must never be the bottleneck, unless the user wants that.
"""

from __future__ import annotations

from dataclasses import replace

from wanlab.topology.model import Conditions, Port, Queue
from wanlab.topology.tc_queues import frame_bytes, limit_bytes, queue_words
from wanlab.units import format_time

# Enough for 100 Gbit/s of 1500-byte packets over 100 ms. netem's default of 1000 packets would be a
# bottleneck that nobody asked for (600 Mbit/s at 20 ms).
DELAY_LINE_PACKETS = 1_000_000
DELAY_LINE, SHAPER = 1, 2
NO_DELAY = f"limit {DELAY_LINE_PACKETS} delay 0ms"
DEFAULT_QUEUE = Queue("fifo", limit_packets=1000)
BURST_S = 0.001


def shape_lines(port: Port) -> tuple[str, ...]:
    """Return the lines of tc that give a port its conditions; none if it has no conditions.

    A port with a schedule gets the conditions that the schedule starts with.
    """
    states = [state for _, state in port.conditions.states()]
    conditions = states[0]
    port = replace(port, conditions=conditions)
    delay_line = netem_words(conditions)
    if not delay_line and any(map(netem_words, states)):
        delay_line = NO_DELAY
    lines = []
    parent = "root"
    if delay_line:
        lines.append(f"qdisc add dev {port.name} {parent} handle {DELAY_LINE}: netem {delay_line}")
        parent = f"parent {DELAY_LINE}:"
    if conditions.trace is not None:
        queue = conditions.queue or DEFAULT_QUEUE
        lines.append(f"qdisc add dev {port.name} {parent} handle {SHAPER}: opportunity")
        parent = f"parent {SHAPER}:"
        lines.append(f"qdisc add dev {port.name} {parent} handle 3: {queue_words(port, queue)}")
    elif conditions.rate_bps is not None:
        queue = conditions.queue or DEFAULT_QUEUE
        shaper = tbf_words(port, queue)
        lines.append(f"qdisc add dev {port.name} {parent} handle {SHAPER}: tbf {shaper}")
        parent = f"parent {SHAPER}:"
        if not _is_tbf_queue(queue):
            lines.append(f"qdisc add dev {port.name} {parent} handle 3: {queue_words(port, queue)}")
    elif conditions.queue is not None and not delay_line:
        # The queue builds up because of the port's line rate.
        lines.append(
            f"qdisc add dev {port.name} root handle 3: {queue_words(port, conditions.queue)}"
        )
    elif conditions.queue is not None and not _is_delay_line_limit(conditions.queue):
        lines.append(
            f"qdisc add dev {port.name} {parent} handle 3: {queue_words(port, conditions.queue)}"
        )
    return tuple(lines)


def _time_of_tc(time_ns: int) -> str:
    """Write a time without nanoseconds, a unit that netem's part of `tc` does not know."""
    text = format_time(time_ns)
    return f"{time_ns / 1000:.3f}us" if text.endswith("ns") else text


def netem_words(conditions: Conditions) -> str:
    """Return the parameters of netem; empty if it has nothing to do."""
    words = []
    if conditions.delay_ns or conditions.jitter_ns:
        words += ["delay", _time_of_tc(conditions.delay_ns)]
        if conditions.jitter_ns:
            words.append(_time_of_tc(conditions.jitter_ns))
            if conditions.delay_correlation_fraction:
                words.append(percent(conditions.delay_correlation_fraction))
            if conditions.distribution:
                words += ["distribution", conditions.distribution]
    for word, fraction, correlation in (
        ("loss", conditions.loss_fraction, conditions.loss_correlation_fraction),
        ("duplicate", conditions.duplicate_fraction, 0.0),
        ("corrupt", conditions.corrupt_fraction, 0.0),
        ("reorder", conditions.reorder_fraction, conditions.reorder_correlation_fraction),
    ):
        if fraction:
            words += [word, percent(fraction)]
            if correlation:
                words.append(percent(correlation))
    if conditions.reorder_gap:
        words += ["gap", str(conditions.reorder_gap)]
    if not words:
        return ""
    return " ".join(["limit", str(delay_line_packets(conditions)), *words])


def delay_line_packets(conditions: Conditions) -> int:
    """Return how many packets netem may hold."""
    queue = conditions.queue
    is_bottleneck = conditions.rate_bps is not None or conditions.trace is not None
    if queue is None or is_bottleneck or not _is_delay_line_limit(queue):
        return DELAY_LINE_PACKETS
    assert queue.limit_packets is not None
    return queue.limit_packets


def _is_delay_line_limit(queue: Queue | None) -> bool:
    """Whether the limit of a queue is that of the delay line, as for Mininet's max_queue_size."""
    return queue is not None and queue.kind == "fifo" and queue.limit_packets is not None


def _is_tbf_queue(queue: Queue) -> bool:
    """Whether tbf's own queue, a fifo of bytes, is sufficient."""
    return queue.kind == "fifo" and queue.limit_packets is None


def tbf_words(port: Port, queue: Queue) -> str:
    rate_bps = port.conditions.rate_bps
    assert rate_bps is not None
    return f"rate {rate_bps}bit burst {burst_bytes(port)} limit {limit_bytes(port, queue)}"


def burst_bytes(port: Port) -> int:
    """Return the burst of tbf: 1 ms at the port's rate, but at least two packets.

    The course's rule of rate/HZ does not apply: the clock of our kernel has no ticks to bridge.
    """
    rate_bps = port.conditions.rate_bps
    assert rate_bps is not None
    return max(int(rate_bps * BURST_S) // 8, 2 * frame_bytes(port))


def percent(fraction: float) -> str:
    """Return a percentage for tc with all the digits that it keeps (its unit is 2^-32)."""
    return f"{fraction * 100:.10g}%"
