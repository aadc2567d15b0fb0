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

from wanlab.errors import Problem, TopologyError
from wanlab.topology.model import Conditions, Port, Queue
from wanlab.topology.settings import QUEUES
from wanlab.units import format_time, whole_number

# Enough for 100 Gbit/s of 1500-byte packets over 100 ms. netem's default of 1000 packets would be a
# bottleneck that nobody asked for (600 Mbit/s at 20 ms).
DELAY_LINE_PACKETS = 1_000_000
DELAY_LINE, SHAPER = 1, 2
NO_DELAY = f"limit {DELAY_LINE_PACKETS} delay 0ms"
DEFAULT_MTU = 1500
# RED keeps its average in 32 bits. If its minimum is larger than this, the average must follow the queue
# at once; the course's burst of min/avpkt does that.
MAX_SLOW_AVERAGE_BYTES = 1 << 20
# How fast the average decays while the queue is empty: the default of tc-red(8).
IDLE_BANDWIDTH_BPS = 10_000_000
ETHERNET_HEADER_BYTES = 14
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


def frame_bytes(port: Port) -> int:
    return (port.mtu or DEFAULT_MTU) + ETHERNET_HEADER_BYTES


def limit_bytes(port: Port, queue: Queue) -> int:
    if queue.limit_bytes is not None:
        return queue.limit_bytes
    return (queue.limit_packets or 1000) * frame_bytes(port)


def queue_words(port: Port, queue: Queue) -> str:
    """Return the kind and the parameters of a queue for tc."""
    options = [word for pair in queue.options for word in pair if word]
    names = {name for name, _ in queue.options}
    if queue.kind == "fifo":
        if queue.limit_packets is not None:
            return f"pfifo limit {queue.limit_packets}"
        return f"bfifo limit {limit_bytes(port, queue)}"
    if queue.kind in QUEUES and QUEUES[queue.kind].is_classful:
        raise TopologyError(
            [
                Problem(
                    f"port {port.name}",
                    f"the queue {queue.kind} needs classes, which a topology cannot describe",
                    "set it up with tc commands once the network runs",
                )
            ]
        )
    words = [queue.kind]
    if queue.kind == "red":
        words += _red_words(port, queue, names)
    elif queue.kind == "choke":
        words += _choke_words(port, queue, names)
    elif queue.kind == "cake":
        words += ["memlimit", str(limit_bytes(port, queue))] if _has_limit(queue) else []
    elif _has_limit(queue):
        words += ["limit", str(_limit_packets(port, queue))]
    return " ".join([*words, *options])


def _has_limit(queue: Queue) -> bool:
    return queue.limit_bytes is not None or queue.limit_packets is not None


def _limit_packets(port: Port, queue: Queue) -> int:
    """Return the limit in packets; bytes are converted to packets of one MTU, as in the course."""
    if queue.limit_packets is not None:
        return queue.limit_packets
    assert queue.limit_bytes is not None
    return max(1, queue.limit_bytes // (port.mtu or DEFAULT_MTU))


def _red_words(port: Port, queue: Queue, names: set[str]) -> list[str]:
    """Return RED's parameters, for which tc has no defaults.

    tc-red(8) recommends a max of a quarter of the limit and a min of a third of max.
    """
    limit = limit_bytes(port, queue)
    numbers = {name: whole_number(value) for name, value in queue.options}
    options = {name: number for name, number in numbers.items() if number is not None}
    average_packet = max(1, options.get("avpkt", 1000))
    maximum = options.get("max", limit // 4)
    minimum = options.get("min", maximum // 3)
    burst = max(1, (2 * minimum + maximum) // (3 * average_packet))
    if minimum > MAX_SLOW_AVERAGE_BYTES:
        burst = minimum // average_packet + 1
    words = {
        "limit": str(limit),
        "min": str(minimum),
        "max": str(maximum),
        "avpkt": str(average_packet),
        "burst": str(burst),
        "probability": "0.02",
    }
    if port.conditions.rate_bps:
        words["bandwidth"] = f"{port.conditions.rate_bps}bit"
    return [word for name, value in words.items() if name not in names for word in (name, value)]


def _choke_words(port: Port, queue: Queue, names: set[str]) -> list[str]:
    limit = _limit_packets(port, queue) if _has_limit(queue) else 1000
    rate_bps = port.conditions.rate_bps or port.speed_bps or IDLE_BANDWIDTH_BPS
    words = {
        "limit": str(limit),
        "min": str(max(1, limit // 12)),
        "max": str(max(2, limit // 4)),
        "bandwidth": f"{rate_bps}bit",
    }
    return [word for name, value in words.items() if name not in names for word in (name, value)]


def percent(fraction: float) -> str:
    """Return a percentage for tc with all the digits that it keeps (its unit is 2^-32)."""
    return f"{fraction * 100:.10g}%"
